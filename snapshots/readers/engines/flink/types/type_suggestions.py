"""Suggest types for in-flight records: those of the job's states, and likely tuples.

A suggested type decodes every record to its last byte. A tuple found by search must also give
values that people write: readable texts, integers below 2^53, floats of a usual size. Neither
proves the type.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain, islice

from snapshots.readers.engines.flink.channels.elements import RECORD, Element
from snapshots.readers.engines.flink.types.composites import ListSerializer, TupleSerializer
from snapshots.readers.engines.flink.types.element_types import fits
from snapshots.readers.engines.flink.types.values import SIMPLE, Serializer
from snapshots.readers.formats.cursor import Cursor, Malformed

MOST_FIELDS = 8
MOST_SUGGESTED = 5
MOST_NAMED = 200  # types of states that are tried
_MOST_SAMPLED = 40  # records that the search decodes; its results are tried on all records
_MOST_BYTES = 16 * 2**20  # that the search decodes
_EXACT = 2**53  # JSON's integers are exact below it


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value.isprintable()


def _is_usual_integer(value: object) -> bool:
    return isinstance(value, int) and abs(value) < _EXACT


def _is_usual_float(value: object) -> bool:
    return isinstance(value, float) and (value == 0 or 1e-12 < abs(value) < 1e18)


def _is_anything(value: object) -> bool:
    return True


_Candidate = tuple[Serializer, Callable[[object], bool]]  # a type, and whether a value is usual
_LIKELY: tuple[_Candidate, ...] = (
    (SIMPLE["string"], _is_text),
    (SIMPLE["long"], _is_usual_integer),
    (SIMPLE["double"], _is_usual_float),
    (SIMPLE["int"], _is_usual_integer),
    (SIMPLE["boolean"], _is_anything),
)
_LESS_LIKELY = (
    *_LIKELY,
    (SIMPLE["float"], _is_usual_float),
    (SIMPLE["short"], _is_anything),
    (SIMPLE["byte"], _is_anything),
    (SIMPLE["bytes"], _is_anything),
)


def suggest(
    channels: Sequence[Sequence[Element]], known: Mapping[str, Serializer] | None = None
) -> list[str]:
    """Return names of types that fit all records, likeliest first, at most MOST_SUGGESTED.

    Args:
        channels: the elements of each channel of an edge.
        known: types of the job's states by name, as ``element_types.types_of`` returns them.
    """
    sample = _sample(channels)
    if not sample:
        return []
    tuples = _Search(sample, _LIKELY).results() or _Search(sample, _LESS_LIKELY).results()
    groups = (_named_types(known or {}), tuples, _lists(sample))
    types = {type_.name: type_ for group in groups for type_ in group}
    fitting = (name for name, type_ in types.items() if fits(chain.from_iterable(channels), type_))
    return list(islice(fitting, MOST_SUGGESTED))


def _sample(channels: Sequence[Sequence[Element]]) -> list[bytes]:
    """Return at most _MOST_SAMPLED distinct values from all over the channels, shortest first."""
    distinct: dict[bytes, None] = {}
    for elements in channels:
        for index in range(0, len(elements), max(1, len(elements) // _MOST_SAMPLED)):
            if elements[index].kind == RECORD:
                distinct[elements[index].value] = None
    by_length = sorted(distinct, key=len)
    return by_length[:: max(1, len(by_length) // _MOST_SAMPLED)][:_MOST_SAMPLED]


def is_named(name: str) -> bool:
    """Tell whether a type has a name of its own, or names for its fields."""
    return name.startswith(("pojo ", "case ", "row<"))


def _named_types(known: Mapping[str, Serializer]) -> list[Serializer]:
    """Return the types with names of their own; that a state has a simple type says little."""
    named = (type_ for name, type_ in known.items() if is_named(name))
    return list(islice(named, MOST_NAMED))


def _lists(sample: list[bytes]) -> list[Serializer]:
    lists = [(ListSerializer(type_), is_usual) for type_, is_usual in _LIKELY]
    return [list_ for list_, is_usual in lists if _all_usual(list_, is_usual, sample)]


def _all_usual(
    list_: ListSerializer, is_usual: Callable[[object], bool], sample: list[bytes]
) -> bool:
    try:
        return all(is_usual(item) for value in sample for item in list_.decode(Cursor(value)))
    except Malformed:
        return False


class _Search:
    """A search for the fields of a tuple, from left to right in all sampled values at once."""

    def __init__(self, sample: list[bytes], types: Sequence[_Candidate]) -> None:
        self._sample = sample
        self._types = types
        self._bytes_left = _MOST_BYTES

    def results(self) -> list[Serializer]:
        """Return simple types, or if none fits the tuples with the fewest fields."""
        types: list[tuple[Serializer, ...]] = []
        for count in range(1, MOST_FIELDS + 1):
            self._extend((), [0] * len(self._sample), count, types)
            if types:
                break
        return [fields[0] if len(fields) == 1 else TupleSerializer(fields) for fields in types]

    def _extend(
        self,
        before: tuple[Serializer, ...],
        positions: list[int],
        count: int,
        types: list[tuple[Serializer, ...]],
    ) -> None:
        """Append to ``types`` the fields ``before`` with each fitting choice of ``count`` more."""
        if not count:
            if all(at == len(v) for at, v in zip(positions, self._sample, strict=True)):
                types.append(before)
            return
        if self._bytes_left <= 0:
            return
        for type_, is_usual in self._types:
            ends = self._ends(type_, is_usual, positions)
            if ends is not None:
                self._extend((*before, type_), ends, count - 1, types)

    def _ends(
        self, type_: Serializer, is_usual: Callable[[object], bool], positions: list[int]
    ) -> list[int] | None:
        """Return where a field of this type ends in each value; None if one does not have it."""
        ends = []
        try:
            for value, at in zip(self._sample, positions, strict=True):
                cursor = Cursor(value, at)
                self._bytes_left -= len(value) - at + 1
                if not is_usual(type_.decode(cursor)):
                    return None
                ends.append(cursor.position)
        except Malformed:
            return None
        return ends
