"""Payloads of a plan of a restore."""

from snapshots.domain.inventory import dealing, in_flight_plan, operator_plan, reading_again
from snapshots.domain.inventory.restore_plan import RestorePlan
from snapshots.payloads.declaring import documented, payload_of
from snapshots.payloads.inventory import EntryList

payload_of(dealing.Stretch, "StretchItem")
payload_of(operator_plan.NewSubtask, "NewSubtaskItem")
payload_of(operator_plan.OldSubtask, "OldSubtaskItem")
payload_of(operator_plan.StateMove, "StateMoveItem")
payload_of(operator_plan.OperatorPlan, "OperatorPlanItem")
payload_of(in_flight_plan.Receiver, "ReceiverItem")
payload_of(in_flight_plan.EdgePlan, "EdgePlanItem")
payload_of(reading_again.SinkAgain, "SinkAgainItem")


class PositionList(EntryList):
    state: str


_POSITIONS = "the first entries of each state, which are, or hold, the offsets"
payload_of(
    reading_again.SourceAgain,
    "SourceAgainItem",
    more={"positions": documented(list[PositionList], _POSITIONS)},
)
RestorePlanDetail = payload_of(RestorePlan, "RestorePlanDetail")
