"""Answer which states differ between two checkpoints of an upload."""

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
