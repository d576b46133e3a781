"""Which types the records in flight may have: those of the job's states, and likely tuples.

A suggestion decodes every record to its last byte and gives values that people write: readable
texts, whole numbers below 2^53, numbers with a point of a usual size. That is no proof.
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
_TRIED = 40  # records that the search looks at; what it finds is tried on all
_MOST_BYTES = 16 * 2**20  # that the search decodes
_EXACT = 2**53


def _text(value: object) -> bool:
    return isinstance(value, str) and value.isprintable()


def _whole(value: object) -> bool:
    return isinstance(value, int) and abs(value) < _EXACT


def _pointed(value: object) -> bool:
    return isinstance(value, float) and (value == 0 or 1e-12 < abs(value) < 1e18)


def _anything(value: object) -> bool:
    return True


_Candidate = tuple[Serializer, Callable[[object], bool]]  # and whether a value of it is usual
_LIKELY: tuple[_Candidate, ...] = (
    (SIMPLE["string"], _text),
    (SIMPLE["long"], _whole),
    (SIMPLE["double"], _pointed),
    (SIMPLE["int"], _whole),
    (SIMPLE["boolean"], _anything),
)
_LESS_LIKELY = (
    *_LIKELY,
    (SIMPLE["float"], _pointed),
    (SIMPLE["short"], _anything),
    (SIMPLE["byte"], _anything),
    (SIMPLE["bytes"], _anything),
)


def suggest(
    channels: Sequence[Sequence[Element]], known: Mapping[str, Serializer] | None = None
) -> list[str]:
    """Names of types that fit all records, the likeliest first, at most MOST_SUGGESTED.

    channels: the elements of each channel of an edge. known: types of the job's states by name, as
    ``element_types.types_of`` gives them.
    """
    sample = _sample(channels)
    if not sample:
        return []
    found = _Search(sample, _LIKELY).found() or _Search(sample, _LESS_LIKELY).found()
    likely = (_of_states(known or {}), found, _lists(sample))
    types = {type_.name: type_ for group in likely for type_ in group}
    whole = (name for name, type_ in types.items() if fits(chain.from_iterable(channels), type_))
    return list(islice(whole, MOST_SUGGESTED))


def _sample(channels: Sequence[Sequence[Element]]) -> list[bytes]:
    """_TRIED different values at most, from all over, the shorter ones first."""
    different: dict[bytes, None] = {}
    for elements in channels:
        for place in range(0, len(elements), max(1, len(elements) // _TRIED)):
            if elements[place].kind == RECORD:
                different[elements[place].value] = None
    by_length = sorted(different, key=len)
    return by_length[:: max(1, len(by_length) // _TRIED)][:_TRIED]


def is_named(name: str) -> bool:
    """Whether a type has a name of its own, or names for its fields."""
    return name.startswith(("pojo ", "case ", "row<"))


def _of_states(known: Mapping[str, Serializer]) -> list[Serializer]:
    """Types with a name of their own first: what else is a simple type says little."""
    named = (type_ for name, type_ in known.items() if is_named(name))
    return list(islice(named, MOST_NAMED))


def _lists(sample: list[bytes]) -> list[Serializer]:
    lists = [(ListSerializer(type_), likely) for type_, likely in _LIKELY]
    return [one for one, likely in lists if _all_likely(one, likely, sample)]


def _all_likely(one: ListSerializer, likely: Callable, sample: list[bytes]) -> bool:
    try:
        return all(likely(item) for value in sample for item in one.decode(Cursor(value)))
    except Malformed:
        return False


class _Search:
    """Fields from left to right, in all values of the sample at once."""

    def __init__(self, sample: list[bytes], types: Sequence[_Candidate]) -> None:
        self._sample = sample
        self._types = types
        self._bytes_left = _MOST_BYTES

    def found(self) -> list[Serializer]:
        """A simple type, or the tuples with the fewest fields."""
        types: list[tuple[Serializer, ...]] = []
        for count in range(1, MOST_FIELDS + 1):
            self._extend((), [0] * len(self._sample), count, types)
            if types:
                break
        return [each[0] if len(each) == 1 else TupleSerializer(each) for each in types]

    def _extend(
        self,
        before: tuple[Serializer, ...],
        positions: list[int],
        count: int,
        types: list[tuple[Serializer, ...]],
    ) -> None:
        if not count or self._bytes_left <= 0:
            whole = all(at == len(v) for at, v in zip(positions, self._sample, strict=True))
            if not count and whole:
                types.append(before)
            return
        for type_, likely in self._types:
            behind = self._behind(type_, likely, positions)
            if behind is not None:
                self._extend((*before, type_), behind, count - 1, types)

    def _behind(
        self, type_: Serializer, likely: Callable[[object], bool], positions: list[int]
    ) -> list[int] | None:
        """Where each value goes on behind a field; None where one does not have it."""
        behind = []
        try:
            for value, at in zip(self._sample, positions, strict=True):
                cursor = Cursor(value, at)
                self._bytes_left -= len(value) - at + 1
                if not likely(type_.decode(cursor)):
                    return None
                behind.append(cursor.position)
        except Malformed:
            return None
        return behind
