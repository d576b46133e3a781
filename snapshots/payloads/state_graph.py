"""Payloads of the graph of global states, and of an event that is tried in one of them."""

from typing import Any

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.domain.causality import state_graph_report
from snapshots.payloads.declaring import described, payload_of

ChannelMessageItem = payload_of(state_graph_report.ChannelMessage, "ChannelMessageItem")
GlobalStateItem = payload_of(state_graph_report.GlobalStateItem, "GlobalStateItem")
StateEdgeItem = payload_of(state_graph_report.StateEdge, "StateEdgeItem")
StateGraphDetail = payload_of(state_graph_report.StateGraphReport, "StateGraphDetail")


@described
class OccurrenceDetail(TypedDict):
    """What comes of trying an event in a global state (Chandy and Lamport, section 2.1).

    Attributes:
        event: the event in words.
        may: whether it may occur; null if what is known does not decide.
        reasons: why it may not, or what is not known, one sentence each.
        processes: the state of each process in the next global state; null unless it may occur.
        channels: the messages in each channel there, with ``message`` and ``value``; an empty
            channel is absent; null unless it may occur.
        next_state: the number of that state in the graph; null if the graph does not have it.
    """

    event: str
    may: bool | None
    reasons: list[str]
    processes: dict[str, Any] | None
    channels: dict[str, list[dict[str, Any]]] | None
    next_state: int | None
