"""Payloads of a plan of a restore."""

from snapshots.domain.inventory import (
    dealing,
    in_flight_plan,
    operator_plan,
    positions,
    reading_again,
    restore_answer,
    restore_variants,
)
from snapshots.payloads.declaring import documented, list_of, many, payload_of
from snapshots.payloads.inventory import EntryItem

payload_of(dealing.Stretch, "StretchItem")
payload_of(operator_plan.NewSubtask, "NewSubtaskItem")
payload_of(operator_plan.OldSubtask, "OldSubtaskItem")
payload_of(operator_plan.StateMove, "StateMoveItem")
payload_of(operator_plan.HeavyGroup, "HeavyGroupItem")
payload_of(operator_plan.HeavyKey, "HeaviestKeyItem")
payload_of(operator_plan.OperatorPlan, "OperatorPlanItem")
payload_of(in_flight_plan.Receiver, "ReceiverItem")
payload_of(in_flight_plan.EdgePlan, "EdgePlanItem")
payload_of(reading_again.SinkAgain, "SinkAgainItem")
payload_of(positions.Position, "PositionItem")
payload_of(positions.ReadAgain, "ReadAgainItem")
payload_of(restore_answer.ThrownAway, "ThrownAwayItem")
RestoreVariantItem = payload_of(restore_variants.RestoreVariant, "RestoreVariantItem")

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
RestorePlanDetail = payload_of(
    restore_answer.RestorePlan,
    "RestorePlanDetail",
    more={
        "variants": many(
            RestoreVariantItem,
            "The ways to restore the job, side by side: the checkpoint as a whole, without the "
            "operators that were named, and older checkpoints of the job, the newest first.",
        ),
        "older_hidden": documented(int, "How many older checkpoints are not listed."),
    },
)
