"""Answer which states differ between two checkpoints of an upload."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from snapshots.answers import inventory
from snapshots.domain.inventory.model import FileUse
from snapshots.domain.inventory.series import (
    CheckpointChange,
    OperatorChange,
    Side,
    StateChange,
    compare_checkpoints,
    with_counts,
)
from snapshots.domain.model.as_json import as_json
from snapshots.store.inventory.reading import StoredInventory, as_checkpoint, states_of

MOST_COUNTED = 200_000  # entries of both checkpoints whose keys are compared at once
_TOO_MANY = "There are too many keys to count them all at once. Compare this state alone."


def previous(checkpoints: Sequence[Mapping[str, Any]], number: int) -> int | None:
    """Return the number of the checkpoint before one; None if no earlier one lists operators.

    One of the same job is preferred to one of another job, whose state the job may have begun with.
    One whose files are in the upload is preferred to one that only a report mentions.
    """
    job = checkpoints[number]["job"]
    earlier = [other for other in range(number) if checkpoints[other]["operators"]]
    own = [other for other in earlier if checkpoints[other]["job"] == job]
    for candidates in (own, earlier):
        whole = [other for other in candidates if not checkpoints[other]["problem"]]
        if whole or candidates:
            return (whole or candidates)[-1]
    return None


def older_first(
    checkpoints: Sequence[Mapping[str, Any]], first: int, second: int
) -> tuple[int, int]:
    """Return the numbers of two checkpoints, the older one first.

    Checkpoints of one job are in their order; those of two jobs are compared by their times.
    """
    pair = sorted((first, second))
    jobs = {checkpoints[number]["job"] for number in pair}
    times = [_time(checkpoints[number]) for number in pair]
    if len(jobs) > 1 and None not in times:
        pair.sort(key=lambda number: _time(checkpoints[number]) or 0)
    return pair[0], pair[1]


def _time(checkpoint: Mapping[str, Any]) -> int | None:
    at: int | None = checkpoint["triggered_at"]
    return checkpoint["completed_at"] if at is None else at


def difference(opened: StoredInventory, before: int, after: int) -> dict[str, Any]:
    """Return a CheckpointChange as JSON. Raises: NotFound."""
    pair = inventory.checkpoint(opened, before), inventory.checkpoint(opened, after)
    first, second = (
        Side(number, as_checkpoint(held), _key_groups(opened, held))
        for number, held in zip((before, after), pair, strict=True)
    )
    files = (
        FileUse(**file | {"checkpoints": tuple(file["checkpoints"])})
        for file in opened.upload["files"]
    )
    return as_json(_counted(opened, compare_checkpoints(first, second, files), *pair))


def _key_groups(opened: StoredInventory, held: dict[str, Any]) -> dict[str, Any]:
    return {id_: sizes.key_groups for id_, sizes in opened.sizes(held).items()}


def _counted(
    opened: StoredInventory,
    change: CheckpointChange,
    before: dict[str, Any],
    after: dict[str, Any],
) -> CheckpointChange:
    """Count the keys of each state, as long as there are not too many in all."""
    left = MOST_COUNTED
    operators: list[OperatorChange] = []
    for operator in change.operators:
        states: list[StateChange] = []
        for state in operator.states:
            stored = [_stored(held, operator.operator, state.name) for held in (before, after)]
            if sum(stored) > left:
                states.append(replace(state, notes=(_TOO_MANY,)))
                continue
            left -= sum(stored)
            comparison = opened.compare(before, after, operator.operator, state.name, most=0)
            states.append(replace(state, counts=comparison.counts, notes=comparison.notes))
        operators.append(with_counts(operator, states))
    return replace(change, operators=tuple(operators))


def _stored(checkpoint: dict[str, Any], operator: str, state: str | None) -> int:
    states = states_of(checkpoint, operator)
    return sum(item["stored"] for item in states if item["name"] == state)
