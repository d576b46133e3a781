"""Payloads of the question whether a new job takes a savepoint."""

from typing import Any

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.domain.inventory.upgrade import answer
from snapshots.payloads.declaring import described, payload_of

payload_of(answer.StateUpgrade, "StateUpgradeItem")
payload_of(answer.OperatorUpgrade, "OperatorUpgradeItem")
UpgradeDetail = payload_of(answer.UpgradeAnswer, "UpgradeDetail")


@described
class UpgradeQuestion(TypedDict, total=False):
    """The new job that is held against a checkpoint.

    Attributes:
        job: the list of uids, the plan of the REST API or the execution plan, as JSON.
        backend: the state backend of the new job: ``hashmap``, ``rocksdb`` or ``forst``; null where
            it is not known.
        no_uids: true if the new job sets no uids and does not turn off chaining, so that the ids
            that a plan hides are computed.
    """

    job: Any
    backend: str | None
    no_uids: bool
