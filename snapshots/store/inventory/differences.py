"""What differs between a state's entries in two checkpoints."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from snapshots.domain.inventory.model import BROADCAST, LISTED, RAW, UNION

ADDED, REMOVED, CHANGED, SAME, UNKNOWN = "added", "removed", "changed", "same", "unknown"
DIFFERENCES = (ADDED, REMOVED, CHANGED, UNKNOWN, SAME)
_BY_PLACE = (LISTED, UNION, RAW, "per subtask")  # kinds whose elements have no key but their place

Row = dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Side:
    """A state in one checkpoint. rows: its entries that are kept. partial: why there may be more,
    as a sentence; None where these are all."""

    rows: pa.Table
    kind: str | None
    parallelism: int | None
    partial: str | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """counts: by one of DIFFERENCES. examples: (kind, row before, row after), the first of each
    kind but SAME; a row is None where there is no such key. notes: what the counts leave out."""

    counts: dict[str, int]
    examples: list[tuple[str, Row, Row]]
    notes: tuple[str, ...] = ()


def side(checkpoint: Mapping[str, Any], operator: str, state: str, rows: pa.Table) -> Side:
    """rows: of that state, empty where there is none."""
    owner = next((one for one in checkpoint["operators"] if one["id"] == operator), None)
    states = owner["states"] if owner is not None else ()
    found = next((one for one in states if one["name"] == state), None)
    return Side(
        rows,
        found and found["kind"],
        owner and owner["parallelism"],
        _partial(checkpoint, owner, found),
    )


def _partial(
    checkpoint: Mapping[str, Any], owner: Mapping[str, Any] | None, found: Mapping[str, Any] | None
) -> str | None:
    of = f"{checkpoint['kind']} {checkpoint['id']}"
    if checkpoint["problem"]:
        return f"Of {of} no state is known: {checkpoint['problem']}"
    if found is None:
        lacks = owner is not None and checkpoint["missing"]
        return f"Files of {of} are missing, so that the state may be there, too." if lacks else None
    if not found["complete"]:
        return f"Not all of the state in {of} is known: files are missing or damaged."
    if found["stored"] < found["entries"]:
        return f"Of {of} {found['stored']:,} of {found['entries']:,} entries are kept."
    return None


def compare(one: Side, other: Side, most: int) -> Comparison:
    """Keys of either side. One that a side lacks, of which not all is known, may be there: that is
    UNKNOWN. most: examples of each kind."""
    notes = [partial for partial in (one.partial, other.partial) if partial]
    before, after = one.rows, other.rows
    kind = one.kind or other.kind
    by_value = kind in _BY_PLACE and one.parallelism != other.parallelism
    if by_value and one.kind and other.kind:
        notes.append("The elements were dealt out anew: they are compared by value.")
    else:
        by_value = False
    if kind == BROADCAST:
        before, after = _first_copy(before), _first_copy(after)
        notes.append("Every subtask has the same copy: one is compared.")
    counts = dict.fromkeys(DIFFERENCES, 0)
    places: dict[str, list[tuple[int | None, int | None]]] = {name: [] for name in DIFFERENCES}
    for name, *place in _differences(before, after, "digest" if by_value else "identity"):
        if (name == ADDED and one.partial) or (name == REMOVED and other.partial):
            name = UNKNOWN
        counts[name] += 1
        if name != SAME and len(places[name]) < most:
            places[name].append(tuple(place))
    examples = [
        (name, _row(before, first), _row(after, second))
        for name in DIFFERENCES
        for first, second in places[name]
    ]
    return Comparison(counts, examples, tuple(notes))


def _first_copy(rows: pa.Table) -> pa.Table:
    if not rows.num_rows:
        return rows
    return rows.filter(pc.equal(rows["subtask"], pc.min(rows["subtask"])))


def _differences(
    one: pa.Table, other: pa.Table, told_by: str
) -> Iterator[tuple[str, int | None, int | None]]:
    """Kind, and the rows of both: of what is told by the same, the k-th with the k-th."""
    waiting: dict[bytes | None, list[int]] = {}
    for place, identity in enumerate(one[told_by].to_pylist()):
        waiting.setdefault(identity, []).append(place)
    for places in waiting.values():
        places.reverse()
    before, after = one["digest"].to_pylist(), other["digest"].to_pylist()
    for place, identity in enumerate(other[told_by].to_pylist()):
        first = waiting[identity].pop() if waiting.get(identity) else None
        if first is None:
            yield ADDED, None, place
        elif before[first] is None or after[place] is None:
            yield UNKNOWN, first, place
        else:
            yield (SAME if before[first] == after[place] else CHANGED), first, place
    for places in waiting.values():
        for first in reversed(places):
            yield REMOVED, first, None


def _row(rows: pa.Table, place: int | None) -> Row:
    if place is None:
        return None
    return rows.slice(place, 1).drop_columns(["identity", "digest"]).to_pylist()[0]
