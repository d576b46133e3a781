"""Answer whether the new version of a Flink job takes a checkpoint of an upload."""

from typing import Any

from snapshots.answers.inventory import checkpoint
from snapshots.domain.inventory.model import CheckpointInventory
from snapshots.domain.inventory.restore_plan import FLINK
from snapshots.domain.inventory.upgrade.own_list import own_list
from snapshots.domain.inventory.upgrade.upgrade import answer
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.defects import InputRefused
from snapshots.problems import Refused
from snapshots.readers.engines.flink.new_job import read_new_job
from snapshots.store.inventory.reading import StoredInventory, as_checkpoint

DESCRIPTION = "the description of the new job"


def upgrade(
    inventory: StoredInventory,
    number: int,
    description: bytes,
    backend: str | None = None,
    *,
    without_uids: bool = False,
) -> dict[str, Any]:
    """Return an UpgradeAnswer as JSON.

    Args:
        description: of the new job, in one of the forms of ``readers.engines.flink.new_job``.
        backend: the state backend of the new job, where somebody knows it.
        without_uids: whether somebody says that the new job sets no uids.

    Raises: NotFound, Refused.
    """
    held = _held(inventory, number)
    try:
        new_job = read_new_job(description, backend, without_uids=without_uids)
    except InputRefused as refused:
        raise Refused.of(refused, DESCRIPTION) from None
    return as_json(answer(held, new_job, inventory.completeness.get(number)))


def own_job(inventory: StoredInventory, number: int) -> list[dict[str, Any]]:
    """Return the list of uids of the job that wrote a checkpoint. Raises: NotFound, Refused."""
    return own_list(_held(inventory, number))


def _held(inventory: StoredInventory, number: int) -> CheckpointInventory:
    held = as_checkpoint(checkpoint(inventory, number))
    if inventory.upload["engine"] != FLINK:
        raise Refused("Only a checkpoint of Flink can be held against a new job.", code="not-flink")
    if not held.operators:
        raise Refused(
            "The upload does not tell the operators of this checkpoint.", code="not-restorable"
        )
    return held
