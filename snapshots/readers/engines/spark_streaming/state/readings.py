"""In which ways the state of an operator can be read."""

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
    """kind: DEFAULT, or the option of Spark's data source that it needs; name: its value."""

    kind: str = DEFAULT
    name: str | None = None

    @property
    def label(self) -> str:
        """``default``, ``timers``, ``joinSide=left``, ``storeName=…`` or ``stateVarName=…``."""
        return self.kind if self.name is None else f"{self.kind}={self.name}"

    @property
    def store(self) -> str:
        """The store that holds it; of a join side, the one with its rows."""
        if self.kind == STORE:
            return self.name or DEFAULT_STORE
        if self.kind == JOIN_SIDE:
            return f"{self.name}-keyWithIndexToValue"
        return DEFAULT_STORE


def readings_of(operator: Operator, versions: StoreVersions) -> tuple[Reading, ...]:
    """Every way in which the state of this operator can be read."""
    stores = [one.name for one in operator.stores or ()] or list(versions.get(operator.id, {}))
    named = tuple(Reading(STORE, store) for store in stores if store != DEFAULT_STORE)
    if operator.is_join or named:
        return tuple(Reading(JOIN_SIDE, side) for side in SIDES) + named
    if variables := operator.state_variables:
        timers = (Reading(TIMERS),) if operator.has_timers else ()
        return tuple(Reading(VARIABLE, name) for name in variables) + timers
    return (Reading(DEFAULT),)
