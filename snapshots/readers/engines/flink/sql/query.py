"""What one operator of a query holds, put together while its entries are read."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from snapshots.domain.inventory.held import (
    AS_PROGRAMMED,
    BOUNDED,
    ONE_A_KEY,
    PASSES,
    WINDOW,
    Held,
    WindowClock,
)
from snapshots.readers.engines.flink.keyed.keyed_meta import StateType
from snapshots.readers.engines.flink.sql.counting import Counted, alone
from snapshots.readers.engines.flink.sql.meanings import (
    KEYS_OF_ROWS,
    OPERATORS,
    Meaning,
    meaning_of,
    operator_kind,
)
from snapshots.readers.engines.flink.sql.naming import NOT_NAMED, Named, Rows, named, rows_of
from snapshots.readers.engines.flink.sql.plans import Naming, Plan
from snapshots.readers.engines.flink.types.composites import TtlSerializer
from snapshots.readers.engines.flink.types.values import Serializer

_NO_TTL = (None, "0 ms")
_MOST_OFFSETS = 100
_FARTHEST = 14 * 60  # minutes from UTC to a clock
_NO_COLUMNS = "rowdata<>"  # the type of keys of which there is one
_OTHER_SIDE = {"left-records": "right-records", "right-records": "left-records"}
_CLEANUP = ("CleanupTime", "cleanup-timestamp")  # states that only a time to live has


@dataclass(slots=True)
class _State:
    meaning: Meaning
    is_map: bool
    has_ttl: bool | None
    is_of_one_key: bool
    rows: Rows
    counted: Counted = field(default_factory=Counted)


@dataclass(slots=True)
class Query:
    """An operator that may be one of a query.

    Attributes:
        kind: which operator it is, such as ``Join``; None if that is not known.
    """

    kind: str | None
    name: str | None = None
    _states: dict[str, _State] = field(default_factory=dict)
    _is_cleaned_up: bool = False
    _offsets: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, name: str | None, uid: str | None) -> "Query":
        """Return the operator of a name and a uid."""
        return cls(operator_kind(name, uid), name)

    @property
    def words(self) -> str | None:
        """What the operator does; None if no state of it is that of a query."""
        return OPERATORS[self.kind] if self.kind is not None and self._states else None

    def describe(self, state: StateType, key: Serializer) -> None:
        """Note the type of a state. A state whose keys are no rows is of no query."""
        if self.kind is None or state.name in self._states or not key.name.startswith(KEYS_OF_ROWS):
            return
        if (meaning := meaning_of(self.kind, state.name, state.value_type)) is None:
            return
        has_ttl: bool | None = any(
            isinstance(part, TtlSerializer) for part in (state.value, state.element)
        )
        if meaning.stays == AS_PROGRAMMED:
            has_ttl = None
        self._is_cleaned_up = self._is_cleaned_up or state.name.endswith(_CLEANUP)
        is_map = state.kind == "MAP"
        rows = rows_of(
            key, state.user_key if is_map else None, state.element if is_map else state.value
        )
        self._states[state.name] = _State(meaning, is_map, has_ttl, key.name == _NO_COLUMNS, rows)

    def add(self, state: str, identity: bytes, value: object) -> None:
        """Count an entry."""
        if (own := self._states.get(state)) is not None:
            own.counted.add(own.meaning.counts, own.is_map, identity, value)

    def time(self, namespace: object, at: object) -> None:
        """Note a timer of a window: its end in local time, and the instant at which it fires."""
        end = namespace.get("end") if isinstance(namespace, dict) else namespace
        if isinstance(end, int) and isinstance(at, int) and len(self._offsets) < _MOST_OFFSETS:
            self._offsets.add(end - at - 1)

    def named(self, naming: Naming, graph: Plan | None) -> Named:
        """Return the names of its columns; none if it is of no query."""
        if self.kind is None or not self._states:
            return NOT_NAMED
        rows = {name: state.rows for name, state in self._states.items()}
        return named(naming, graph, self.kind, self.name, rows)

    def clock(self, zone: str | None) -> WindowClock | None:
        """Return by which clock its windows end; None if it has no windows."""
        if not any(state.meaning.stays == WINDOW for state in self._states.values()):
            return None
        minutes = {offset // 60_000 for offset in self._offsets if offset % 60_000 == 0}
        is_told = len(minutes) == len(self._offsets) and all(
            abs(one) <= _FARTHEST and one % 15 == 0 for one in minutes
        )
        return WindowClock(tuple(sorted(minutes)) if is_told else (), zone)

    def held(self, state: str, ttl: Mapping[str, str], *, is_complete: bool) -> Held | None:
        """Return what a state holds; its counts only if all of it was read.

        Args:
            ttl: the time to live of each state, by a compiled plan.
        """
        if (own := self._states.get(state)) is None:
            return None
        other = self._states.get(_OTHER_SIDE.get(state, ""))
        counted = own.counted
        return Held(
            own.meaning.what,
            own.meaning.unit,
            counted.rows if is_complete else None,
            counted.keys if is_complete else None,
            counted.unmatched if is_complete else None,
            alone(counted, other.counted) if is_complete and other is not None else None,
            self._stays(state, own),
            has_ttl := True if self._is_cleaned_up else own.has_ttl,
            ttl.get(state) if has_ttl and ttl.get(state) not in _NO_TTL else None,
        )

    def _stays(self, state: str, own: _State) -> str:
        """Return what removes the entries of a state, by what the operator has beside it."""
        stays = own.meaning.stays
        if self.kind == "OverAggregate" and "cleanupTsState" in self._states:
            return PASSES  # a frame of time, whose partition is cleared after it
        if state == "inputState" and "processedCountState" in self._states:
            stays = ONE_A_KEY  # a frame of rows, which stays until the next row of its partition
        return BOUNDED if stays == ONE_A_KEY and own.is_of_one_key else stays
