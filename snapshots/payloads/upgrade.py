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


@described
class ListedState(TypedDict, total=False):
    """A state in a list of uids.

    Attributes:
        name: its name.
        kind: ``keyed value``, ``keyed list``, ``keyed map``, ``keyed reducing``, ``keyed
            aggregating``, ``operator list``, ``operator union list`` or ``operator broadcast``.
        key: the type of the key by which the stream is keyed.
        type: the type of its values; of a map, ``key -> value``.
    """

    name: str
    kind: str
    key: str
    type: str


@described
class ListedOperator(TypedDict, total=False):
    """An operator in a list of uids; what is not known is left out.

    Attributes:
        uid: its uid.
        operatorId: Flink's id of it, in place of a uid.
        name: its name.
        parallelism: how many subtasks it has.
        maxParallelism: its maximum parallelism; -1 where the job leaves it to Flink.
        states: the states that it registers.
        timers: the names of its timer services, such as ``user-timers``.
    """

    uid: str
    operatorId: str
    name: str
    parallelism: int
    maxParallelism: int
    states: list[ListedState]
    timers: list[str]


@described
class OwnJob(TypedDict):
    """The job that wrote a checkpoint, described as a new job is.

    Attributes:
        job: its list of uids, to be edited and held against the checkpoint.
    """

    job: list[ListedOperator]
