"""The ways in which the state of an operator can be read."""

from collections.abc import Iterable
from dataclasses import dataclass

from snapshots.readers.engines.spark_streaming.state.operators import Operator
from snapshots.readers.engines.spark_streaming.state.store_files import DEFAULT_STORE, StoreVersions

DEFAULT, JOIN_SIDE, STORE, VARIABLE, TIMERS = (
    "default",
    "joinSide",
    "storeName",
    "stateVarName",
    "timers",
)
SIDES = ("left", "right")


@dataclass(frozen=True)
class Reading:
    """One way to read the state of an operator.

    Attributes:
        kind: DEFAULT, or the option of Spark's data source that selects it.
        name: the value of that option.
    """

    kind: str = DEFAULT
    name: str | None = None

    @property
    def label(self) -> str:
        """Return ``default``, ``timers``, ``joinSide=…``, ``storeName=…`` or ``stateVarName=…``."""
        return self.kind if self.name is None else f"{self.kind}={self.name}"

    @property
    def store(self) -> str:
        """Return the store that holds the state; for a side of a join, the one with its rows."""
        if self.kind == STORE:
            return self.name or DEFAULT_STORE
        if self.kind == JOIN_SIDE:
            return f"{self.name}-keyWithIndexToValue"
        return DEFAULT_STORE

    def store_in(self, stores: Iterable[str]) -> str:
        """Return the one of an operator's stores that holds the state."""
        return self.store if self.kind != JOIN_SIDE or self.store in stores else DEFAULT_STORE

    @property
    def families(self) -> tuple[str, ...]:
        """Return how the column family can be called that a single store keeps the state in."""
        if self.kind == JOIN_SIDE:  # state formats 3 and 4
            return f"{self.name}-keyWithIndexToValue", f"{self.name}-keyWithTsToValues"
        if self.kind == TIMERS:
            return tuple(f"${each}Timers_keyToTimestamp" for each in ("proc", "event"))
        return (self.name or self.store,)


def store_names(operator: Operator, versions: StoreVersions) -> list[str]:
    """Return the names of an operator's stores from its metadata, or else from its folders."""
    return [store.name for store in operator.stores or ()] or list(versions.get(operator.id, {}))


def readings_of(operator: Operator, versions: StoreVersions) -> tuple[Reading, ...]:
    """Return every way in which the state of an operator can be read."""
    stores = store_names(operator, versions)
    named = tuple(Reading(STORE, store) for store in stores if store != DEFAULT_STORE)
    if operator.is_join or named:
        return tuple(Reading(JOIN_SIDE, side) for side in SIDES) + named
    if variables := operator.state_variables:
        timers = (Reading(TIMERS),) if operator.has_timers else ()
        return tuple(Reading(VARIABLE, name) for name in variables) + timers
    return (Reading(DEFAULT),)
