"""What differs between two checkpoints of an upload, asked for by pages and API."""

from dataclasses import asdict, replace
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
from snapshots.store.inventory.reading import StoredInventory, as_checkpoint

MOST_COUNTED = 200_000  # entries of both checkpoints whose keys are compared at once
_TOO_MANY = "There are too many keys to count them all at once: ask for this state alone."


def difference(opened: StoredInventory, before: int, after: int) -> dict[str, Any]:
    """CheckpointChange as JSON. Raises: NotFound."""
    pair = inventory.checkpoint(opened, before), inventory.checkpoint(opened, after)
    older, newer = (
        Side(number, as_checkpoint(found), _key_groups(opened, found))
        for number, found in zip((before, after), pair, strict=True)
    )
    files = (
        FileUse(**file | {"checkpoints": tuple(file["checkpoints"])})
        for file in opened.upload["files"]
    )
    return asdict(_counted(opened, compare_checkpoints(older, newer, files), *pair))


def _key_groups(opened: StoredInventory, found: dict[str, Any]) -> dict[str, Any]:
    return {id_: sizes.key_groups for id_, sizes in opened.sizes(found).items()}


def _counted(
    opened: StoredInventory,
    change: CheckpointChange,
    before: dict[str, Any],
    after: dict[str, Any],
) -> CheckpointChange:
    """With the keys of each state counted, as long as there are not too many in all."""
    left = MOST_COUNTED
    operators: list[OperatorChange] = []
    for operator in change.operators:
        states: list[StateChange] = []
        for state in operator.states:
            stored = [_stored(one, operator.operator, state.name) for one in (before, after)]
            if sum(stored) > left:
                states.append(replace(state, notes=(_TOO_MANY,)))
                continue
            left -= sum(stored)
            found = opened.compare(before, after, operator.operator, state.name, most=0)
            states.append(replace(state, counts=found.counts, notes=found.notes))
        operators.append(with_counts(operator, states))
    return replace(change, operators=tuple(operators))


def _stored(checkpoint: dict[str, Any], operator: str, state: str | None) -> int:
    return sum(
        one["stored"]
        for owner in checkpoint["operators"]
        if owner["id"] == operator
        for one in owner["states"]
        if one["name"] == state
    )
