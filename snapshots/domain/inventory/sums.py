"""What the values of a state add up to, as far as a sum of them means something.

Sums are of what is additive, such as counts and amounts. Time stamps, offsets, last and largest
values are numbers, too, but nobody wants their sum. Nothing in a file distinguishes them but their
names and their size, so these decide, and what is left out is named with the reason.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from snapshots.domain.inventory.model import BROADCAST, TIMERS

Number = int | float
Path = tuple[str, ...]
"""The name of a field, preceded by those of the objects around it."""
MOST_FIELDS = 30  # of objects, nested ones among them; a map with more keys is not added up by key
LONGEST_FIELD = 100  # characters of a name
DEEPEST = 3  # objects in objects
EXACT = 2**53  # beyond it JSON's numbers are not

_TIMES = "points in time: a sum of them means nothing"
_PLACES = "positions: a sum of them means nothing"
_NAMES = "numbers that name something: a sum of them means nothing"
_SINGLE = "single readings, as a last or largest one is: a sum of them means nothing"
_WORDS = {
    **dict.fromkeys(("time", "timestamp", "ts", "timer", "timers", "date"), _TIMES),
    **dict.fromkeys(("watermark", "watermarks", "deadline", "expiry", "since", "until"), _TIMES),
    **dict.fromkeys(("start", "end", "begin", "epoch", "millis", "ms"), _TIMES),
    **dict.fromkeys(("offset", "offsets", "position", "index", "sequence", "seq"), _PLACES),
    **dict.fromkeys(("version", "cursor", "checkpoint", "partition", "bucket", "rank"), _PLACES),
    **dict.fromkeys(("id", "ids", "key", "keys", "code", "number", "no", "port"), _NAMES),
    **dict.fromkeys(("userid", "customerid", "orderid", "productid", "sessionid"), _NAMES),
    **dict.fromkeys(("year", "month", "day", "hour", "minute"), _TIMES),
    **dict.fromkeys(("age", "temperature", "percent", "latitude", "longitude"), _SINGLE),
    **dict.fromkeys(("arity",), "the shape of a row that is not decoded"),
    **dict.fromkeys(("last", "latest", "first", "previous", "prev"), _SINGLE),
    **dict.fromkeys(("max", "min", "avg", "mean", "average", "median", "rate", "ratio"), _SINGLE),
}
_NOT_OF_VALUES = ("keyWithIndexToValue", "keyToNumValues")  # ends of Spark's own names of stores
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_YEARS = (315_532_800, 4_102_444_800)  # seconds since 1970: 1980 and 2100
_PER_SECOND = (10**3, 10**6, 10**9)  # ms, us, ns


@dataclass
class Adding:
    """The running sums of a state's values.

    Attributes:
        total: the sum of the values. None once one is no number.
        fields: the sums of the values' fields. None for a field that is no number somewhere; None
            altogether once a value is no object, or there are too many fields.
    """

    total: Number | None = 0
    fields: dict[Path, Number | None] | None = field(default_factory=dict)

    def add(self, value: object) -> None:
        """Add the numbers of a value to the sums."""
        self.total = plus(self.total, value)
        if self.fields is None:
            return
        if not isinstance(value, Mapping):
            self.fields = None
            return
        for name, part in _numbers(value):
            self.fields[name] = plus(self.fields.get(name, 0), part)
        if len(self.fields) > MOST_FIELDS:
            self.fields = None

    @property
    def sums(self) -> dict[str, Any]:
        """The sums of fields that are numbers wherever they are present, as nested as in the
        values.
        """
        fields = self.fields or {}
        around = {path[:length] for path in fields for length in range(1, len(path))}
        sums: dict[str, Any] = {}
        for path, total in fields.items():
            if total is None or path in around:
                continue
            inner = sums
            for name in path[:-1]:
                inner = inner.setdefault(name, {})
            inner[path[-1]] = total
        return sums


def plus(total: Number | None, value: object) -> Number | None:
    """Add a value to a sum; None if either is no number, or the sum is too large for JSON."""
    if total is None or not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return total + value if -EXACT < total + value < EXACT else None


def _numbers(value: Mapping[str, object], before: Path = ()) -> Iterator[tuple[Path, object]]:
    """Yield the leaves with their paths.

    A list, or what lies too deep, is a leaf that is no number.
    """
    for name, part in value.items():
        path = (*before, str(name))
        if len(path[-1]) > LONGEST_FIELD:
            continue
        if isinstance(part, Mapping) and len(path) < DEEPEST:
            yield from _numbers(part, path)
        else:
            yield path, part


def leaves(sums: Mapping[str, Any], before: Path = ()) -> Iterator[tuple[Path, Number]]:
    """Yield the fields of ``Adding.sums``, each with its path."""
    for name, part in sums.items():
        if isinstance(part, Mapping):
            yield from leaves(part, (*before, name))
        else:
            yield (*before, name), part


def why_not(kind: str, entries: int | None, names: Path, total: Number) -> str | None:
    """Return why a sum means nothing, or None if it may mean something.

    Args:
        kind, entries: those of the state.
        names: the name of the state, and the path of the field in it.
    """
    if kind == TIMERS:
        return _TIMES
    if kind == BROADCAST:
        return "a broadcast state: each subtask keeps the whole of it"
    own = [name for name in names if not name.endswith(_NOT_OF_VALUES)]
    words = (word.lower() for name in own for word in _WORD.findall(name))
    reason = next((_WORDS[word] for word in words if word in _WORDS), None)
    if reason is None and entries and _is_moment(total / entries):
        return _TIMES
    return reason


def _is_moment(mean: float) -> bool:
    """Tell whether numbers of this size are probably milli-, micro- or nanoseconds since 1970."""
    first, last = _YEARS
    return any(first * per <= mean <= last * per for per in _PER_SECOND)
