"""Answer which states differ between two checkpoints of an upload."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from snapshots.answers import inventory
from snapshots.domain.inventory.model import FAILED, IN_PROGRESS, FileUse
from snapshots.domain.inventory.series import (
    CheckpointChange,
    OperatorChange,
    Side,
    StateChange,
    compare_checkpoints,
    with_counts,
)
from snapshots.domain.model.as_json import as_json
from snapshots.problems import NotFound, Refused
from snapshots.store.inventory.differences import ANY, TooManyEntries, Wanted
from snapshots.store.inventory.differences import compare as compare_sides
from snapshots.store.inventory.reading import StoredInventory, as_checkpoint, states_of

MOST_COUNTED = 200_000  # entries of both checkpoints whose keys are compared at once
MOST_TRIED = 20  # checkpoints of which one may be the one before
OTHER_UPLOAD = "They are in different uploads, so their files are not compared."
TOO_MANY = "There are too many keys to count them all at once. Compare this state alone."


def previous(opened: StoredInventory, number: int, *, of_same_job: bool = False) -> int | None:
    """Return the number of the checkpoint before one; None if there is none to compare it with.

    It has an operator of the checkpoint, so that it is of the same pipeline. One of the same job is
    preferred to one of another job, whose state the job may have begun with, and one that is whole
    to one that failed or that only a report mentions.
    """
    checkpoints = opened.upload["checkpoints"]
    earlier = [other for other in reversed(range(number)) if checkpoints[other]["operators"]]
    own = [other for other in earlier if checkpoints[other]["job"] == checkpoints[number]["job"]]
    operators = _operator_ids(opened, number)
    for candidates in (own,) if of_same_job else (own, earlier):
        whole = [other for other in candidates if _is_whole(checkpoints[other])]
        for other in (*whole, *candidates)[:MOST_TRIED]:
            if not operators or operators & _operator_ids(opened, other):
                return other
    return None


def _operator_ids(opened: StoredInventory, number: int) -> set[str]:
    return {operator["id"] for operator in opened.checkpoint(number)["operators"]}


def _is_whole(checkpoint: Mapping[str, Any]) -> bool:
    return not checkpoint["problem"] and checkpoint["status"] not in (FAILED, IN_PROGRESS)


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
    """Return a CheckpointChange from the older to the newer checkpoint as JSON.

    The order of the two numbers does not matter. Raises: NotFound.
    """
    pair = inventory.checkpoint(opened, before), inventory.checkpoint(opened, after)
    if older_first(opened.upload["checkpoints"], before, after) != (before, after):
        before, after, pair = after, before, pair[::-1]
    first, second = (
        _side(opened, number, held) for number, held in zip((before, after), pair, strict=True)
    )
    files = (
        FileUse(**file | {"checkpoints": tuple(file["checkpoints"])})
        for file in opened.upload["files"]
    )
    change = compare_checkpoints(first, second, files)
    return as_json(_counted((opened, opened), change, *pair))


def across(
    older: StoredInventory, before: int, newer: StoredInventory, after: int
) -> dict[str, Any]:
    """Return a CheckpointChange between checkpoints of two uploads of one job as JSON.

    Their files are not compared. Raises: NotFound.
    """
    pair = inventory.checkpoint(older, before), inventory.checkpoint(newer, after)
    first, second = _side(older, before, pair[0]), _side(newer, after, pair[1])
    change = compare_checkpoints(first, second, ())
    change = replace(change, notes=(*change.notes, OTHER_UPLOAD))
    return as_json(_counted((older, newer), change, *pair))


def _side(opened: StoredInventory, number: int, held: dict[str, Any]) -> Side:
    return Side(number, as_checkpoint(held), _key_groups(opened, held))


def compare(
    opened: StoredInventory,
    first: int,
    second: int,
    operator: str,
    state: str,
    wanted: Wanted = ANY,
) -> dict[str, Any]:
    """Compare one state from the older to the newer of two checkpoints of the upload.

    Raises: NotFound. Refused if there are too many entries.
    """
    held = {number: inventory.checkpoint(opened, number) for number in (first, second)}
    before, after = older_first(opened.upload["checkpoints"], first, second)
    states = states_of(held[before], operator) + states_of(held[after], operator)
    if all(item["name"] != state for item in states):
        raise NotFound("Neither checkpoint has such a state in that operator.")
    try:
        comparison = opened.compare(held[before], held[after], operator, state, wanted)
    except TooManyEntries as error:
        raise Refused(
            f"{error} They have no key groups by which a part could be compared.", code="too-many"
        ) from None
    return {
        "before": before,
        "after": after,
        "counts": comparison.counts,
        "notes": list(comparison.notes),
        "examples": [
            {
                "kind": kind,
                "before": one and inventory.entry(one),
                "after": other and inventory.entry(other),
            }
            for kind, one, other in comparison.examples
        ],
    }


def keys(
    opened: StoredInventory, first: int, second: int, operator: str, state: str, wanted: Wanted
) -> dict[str, Any]:
    """Return one page of a state's keys that differ in the wanted way, with all counts.

    Raises: NotFound. Refused if there are too many entries.
    """
    body = compare(opened, first, second, operator, state, wanted)
    items = body.pop("examples")
    return {**body, "items": items, "total": body["counts"][wanted.kind]}


def _key_groups(opened: StoredInventory, held: dict[str, Any]) -> dict[str, Any]:
    return {id_: sizes.key_groups for id_, sizes in opened.sizes(held).items()}


def _counted(
    uploads: tuple[StoredInventory, StoredInventory],
    change: CheckpointChange,
    before: dict[str, Any],
    after: dict[str, Any],
) -> CheckpointChange:
    """Count the keys of each state, as long as there are not too many in all.

    Args:
        uploads: the uploads of the first and of the second checkpoint.
    """
    left = MOST_COUNTED
    operators: list[OperatorChange] = []
    for operator in change.operators:
        states: list[StateChange] = []
        for state in operator.states:
            stored = [_stored(held, operator.operator, state.name) for held in (before, after)]
            if sum(stored) > left:
                states.append(replace(state, notes=(TOO_MANY,)))
                continue
            left -= sum(stored)
            earlier, later = (
                opened.side(held, operator.operator, state.name)
                for opened, held in zip(uploads, (before, after), strict=True)
            )
            comparison = compare_sides(earlier, later, Wanted(limit=0))
            states.append(replace(state, counts=comparison.counts, notes=comparison.notes))
        operators.append(with_counts(operator, states))
    return replace(change, operators=tuple(operators))


def _stored(checkpoint: dict[str, Any], operator: str, state: str | None) -> int:
    states = states_of(checkpoint, operator)
    return sum(item["stored"] for item in states if item["name"] == state)
