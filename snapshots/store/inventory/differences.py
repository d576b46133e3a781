"""Compare the entries of one state in two checkpoints."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from snapshots.domain.inventory.model import BROADCAST, LISTED, RAW, UNION, number_words

ADDED, REMOVED, CHANGED, SAME, UNKNOWN = "added", "removed", "changed", "same", "unknown"
DIFFERENCES = (ADDED, REMOVED, CHANGED, UNKNOWN, SAME)
_BY_PLACE = (LISTED, UNION, RAW, "per subtask")  # kinds whose elements have no key but their place

Row = dict[str, Any] | None
Place = tuple[int | None, int | None]
"""The numbers of a key's rows on both sides. None if the side lacks the key."""
MOST_COMPARED = 200_000  # entries of both sides


class TooManyEntries(Exception):
    """Raised if there are too many entries to compare, and no part of them can be compared."""

    def __init__(self, entries: int) -> None:
        self.entries = entries
        super().__init__(f"{entries:,} entries are too many to compare at once.")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which differences are wanted.

    Attributes:
        kind: one of DIFFERENCES. None for the first differences of each kind but SAME.
        offset: how many differences of ``kind`` to skip.
        limit: how many differences of a kind there are at most.
        containing: a text in the key, the namespace or a value, whatever its case.
    """

    kind: str | None = None
    offset: int = 0
    limit: int = 50
    containing: str = ""


ANY = Wanted()


@dataclass(frozen=True, slots=True)
class Side:
    """A state in one of the two checkpoints.

    Attributes:
        rows: the entries that are kept.
        kind: the kind of the state; None if the checkpoint lacks it.
        parallelism: the operator's parallelism; None if it is not known or the checkpoint lacks the
            operator.
        partial: a sentence that says why there may be more entries; None if these are all.
    """

    rows: pa.Table
    kind: str | None
    parallelism: int | None
    partial: str | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences between the entries of one state in two checkpoints.

    Attributes:
        counts: the number of keys for each of DIFFERENCES.
        examples: the kind and both rows of the differences that are wanted. A row is None if its
            checkpoint lacks the key.
        notes: sentences that say what the counts leave out.
    """

    counts: dict[str, int]
    examples: list[tuple[str, Row, Row]]
    notes: tuple[str, ...] = ()


def side(checkpoint: Mapping[str, Any], operator: str, state: str | None, rows: pa.Table) -> Side:
    """Return one side of a comparison; ``rows`` are empty if the checkpoint lacks the state."""
    owner = _first(checkpoint["operators"], "id", operator)
    member = None if owner is None else _first(owner["states"], "name", state)
    return Side(
        rows,
        None if member is None else member["kind"],
        None if owner is None else owner["parallelism"],
        _partial(checkpoint, owner, member),
    )


def _first(items: list[dict[str, Any]], field: str, value: object) -> dict[str, Any] | None:
    return next((item for item in items if item[field] == value), None)


def _partial(
    checkpoint: Mapping[str, Any], owner: Mapping[str, Any] | None, state: Mapping[str, Any] | None
) -> str | None:
    title = f"{checkpoint['kind']} {number_words(checkpoint['kind'], checkpoint['id'])}"
    if checkpoint["problem"]:
        return f"No state of {title} is known: {checkpoint['problem']}"
    if state is None:
        if owner is None or not checkpoint["missing"]:
            return None
        return f"Files of {title} are missing, so it may have the state, too."
    if not state["complete"]:
        return f"Not all of the state in {title} is known: files are missing or damaged."
    if state["stored"] < state["entries"]:
        return f"Only {state['stored']:,} of {state['entries']:,} entries of {title} are kept."
    return None


def compare(before: Side, after: Side, wanted: Wanted) -> Comparison:
    """Compare the keys of both sides.

    A key is UNKNOWN if one side lacks it but may have more entries than are kept.
    Raises: TooManyEntries.
    """
    notes = [side.partial for side in (before, after) if side.partial]
    earlier, later = before.rows, after.rows
    kind = before.kind or after.kind
    in_both = before.kind is not None and after.kind is not None
    by_value = in_both and kind in _BY_PLACE and before.parallelism != after.parallelism
    if by_value:
        notes.append("The elements were distributed anew, so they are compared by value.")
    if kind == BROADCAST:
        earlier, later = _first_copy(earlier), _first_copy(later)
        notes.append("Every subtask has the same copy, so only one is compared.")
    earlier, later, note = _bounded(earlier, later)
    notes += [note] if note else []
    places = dict[str, list[Place]]((name, []) for name in DIFFERENCES)
    for name, *place in _differences(earlier, later, "digest" if by_value else "identity"):
        if (name == ADDED and before.partial) or (name == REMOVED and after.partial):
            name = UNKNOWN
        places[name].append((place[0], place[1]))
    if wanted.containing:
        places = {
            name: _containing(earlier, later, own, wanted.containing)
            for name, own in places.items()
        }
    examples = [
        (name, _row(earlier, first), _row(later, second))
        for name, own in places.items()
        for first, second in _page(name, own, wanted)
    ]
    return Comparison({name: len(own) for name, own in places.items()}, examples, tuple(notes))


def _page(name: str, places: list[Place], wanted: Wanted) -> list[Place]:
    if wanted.kind is None:
        return [] if name == SAME else places[: wanted.limit]
    return places[wanted.offset :][: wanted.limit] if name == wanted.kind else []


def _containing(earlier: pa.Table, later: pa.Table, places: list[Place], text: str) -> list[Place]:
    """Return the places at which one of both rows contains a text."""
    first, second = (containing(rows, text).to_pylist() for rows in (earlier, later))
    return [
        (one, other)
        for one, other in places
        if (one is not None and first[one]) or (other is not None and second[other])
    ]


def containing(rows: pa.Table, text: str) -> pa.ChunkedArray:
    """Tell for each row whether its key, namespace or value contains a text, whatever its case."""
    matches = (
        pc.fill_null(pc.match_substring(rows[name], text, ignore_case=True), False)
        for name in ("key", "namespace", "value")
    )
    return reduce(pc.or_, matches)


def _bounded(earlier: pa.Table, later: pa.Table) -> tuple[pa.Table, pa.Table, str | None]:
    """Return both sides, or if they are too large their first key groups, with a sentence.

    A key has the same key group in both checkpoints. Raises: TooManyEntries.
    """
    total = earlier.num_rows + later.num_rows
    if total <= MOST_COMPARED:
        return earlier, later, None
    groups = pa.chunked_array([*earlier["key_group"].chunks, *later["key_group"].chunks])
    last, left = None, MOST_COMPARED
    for row in sorted(groups.value_counts().to_pylist(), key=lambda row: row["values"] or 0):
        left -= row["counts"]
        if row["values"] is None or left < 0:
            break
        last = row["values"]
    if last is None:
        raise TooManyEntries(total)
    first, second = (
        rows.filter(pc.less_equal(rows["key_group"], last)) for rows in (earlier, later)
    )
    note = (
        f"Only key groups 0 to {last:,} are compared, because there are so many entries: "
        f"{first.num_rows + second.num_rows:,} of {total:,} in both."
    )
    return first, second, note


def _first_copy(rows: pa.Table) -> pa.Table:
    if not rows.num_rows:
        return rows
    return rows.filter(pc.equal(rows["subtask"], pc.min(rows["subtask"])))


def _differences(
    earlier: pa.Table, later: pa.Table, key: str
) -> Iterator[tuple[str, int | None, int | None]]:
    """Yield the kind of each difference and the two rows.

    The k-th row with some value in the column ``key`` belongs to the k-th one on the other side.
    """
    unmatched: dict[bytes | None, list[int]] = {}
    for row, identity in enumerate(earlier[key].to_pylist()):
        unmatched.setdefault(identity, []).append(row)
    for rows in unmatched.values():
        rows.reverse()
    before, after = earlier["digest"].to_pylist(), later["digest"].to_pylist()
    for row, identity in enumerate(later[key].to_pylist()):
        first = unmatched[identity].pop() if unmatched.get(identity) else None
        if first is None:
            yield ADDED, None, row
        elif before[first] is None or after[row] is None:
            yield UNKNOWN, first, row
        else:
            yield (SAME if before[first] == after[row] else CHANGED), first, row
    for rows in unmatched.values():
        for first in reversed(rows):
            yield REMOVED, first, None


def _row(rows: pa.Table, number: int | None) -> Row:
    if number is None:
        return None
    return rows.slice(number, 1).drop_columns(["identity", "digest"]).to_pylist()[0]
