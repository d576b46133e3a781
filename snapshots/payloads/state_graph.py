"""Payload of the graph of global states."""

from snapshots.domain.causality import state_graph_report
from snapshots.payloads.declaring import payload_of

ChannelMessageItem = payload_of(state_graph_report.ChannelMessage, "ChannelMessageItem")
GlobalStateItem = payload_of(state_graph_report.GlobalStateItem, "GlobalStateItem")
StateEdgeItem = payload_of(state_graph_report.StateEdge, "StateEdgeItem")
StateGraphDetail = payload_of(state_graph_report.StateGraphReport, "StateGraphDetail")
