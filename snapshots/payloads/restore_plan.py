"""Payloads of a plan of a restore."""

from snapshots.domain.inventory import dealing, in_flight_plan, operator_plan, reading_again
from snapshots.domain.inventory.restore_plan import RestorePlan
from snapshots.payloads.declaring import documented, list_of, many, payload_of
from snapshots.payloads.inventory import EntryItem

payload_of(dealing.Stretch, "StretchItem")
payload_of(operator_plan.NewSubtask, "NewSubtaskItem")
payload_of(operator_plan.OldSubtask, "OldSubtaskItem")
payload_of(operator_plan.StateMove, "StateMoveItem")
payload_of(operator_plan.OperatorPlan, "OperatorPlanItem")
payload_of(in_flight_plan.Receiver, "ReceiverItem")
payload_of(in_flight_plan.EdgePlan, "EdgePlanItem")
payload_of(reading_again.SinkAgain, "SinkAgainItem")

PositionList = list_of(
    EntryItem, "PositionList", more={"state": documented(str, "The name of the state.")}
)
payload_of(
    reading_again.SourceAgain,
    "SourceAgainItem",
    more={
        "positions": many(
            PositionList, "The first entries of each state, which are, or hold, the offsets."
        )
    },
)
RestorePlanDetail = payload_of(RestorePlan, "RestorePlanDetail")
