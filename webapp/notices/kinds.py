"""The kinds of events that people can be notified of. docs/notifications.md describes each."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from snapshots.problems import Invalid


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of event.

    Attributes:
        name: the word in the API and in the ``type`` of a webhook.
        title: what happened, as the pages say it.
        is_mailed: whether e-mail is on for it until the person chooses.
    """

    name: str
    title: str
    is_mailed: bool = False


JOB_DONE = "job.done"
JOB_FAILED = "job.failed"
NOT_CONSISTENT = "verdict.not-consistent"
MENTIONED = "entry.mentioned"
FOLLOW_UP_DUE = "follow-up.due"
STALLED = "checkpoints.stalled"
TEST = "test"  # cannot be chosen: every webhook takes it

KINDS = (
    Kind(JOB_DONE, "A job of yours is done"),
    Kind(JOB_FAILED, "A job of yours failed, or its input was refused"),
    Kind(NOT_CONSISTENT, "A recording of yours has a snapshot that is not consistent"),
    Kind(MENTIONED, "Somebody mentions you", is_mailed=True),
    Kind(FOLLOW_UP_DUE, "A follow-up of yours is due", is_mailed=True),
    Kind(STALLED, "A running job in the archive stops completing checkpoints", is_mailed=True),
)
NAMES = tuple(kind.name for kind in KINDS)
MAILED = [kind.name for kind in KINDS if kind.is_mailed]


def checked(names: Any) -> list[str]:
    """Return names of kinds in their usual order, each once. Raises: Invalid."""
    if not isinstance(names, Iterable) or isinstance(names, str | dict):
        raise Invalid("The kinds are a list of names.", field="kinds")
    given = list(names)
    for name in given:
        if name not in NAMES:
            listed = ", ".join(NAMES)
            raise Invalid(f"There is no kind {name!r}: choose among {listed}.", field="kinds")
    return [name for name in NAMES if name in given]
