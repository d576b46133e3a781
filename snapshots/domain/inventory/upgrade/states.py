"""What becomes of each state of an operator that the new job has, too.

Source: Flink, StateBackend.createKeyedStateBackend, RegisteredKeyValueStateBackendMetaInfo,
StateSerializerProvider and DefaultOperatorStateBackend. A state is found by its name. One that the
new operator does not register stays where it is until the next checkpoint leaves it out, and Flink
says nothing.
"""

from collections.abc import Iterator

from snapshots.domain.inventory.model import (
    BROADCAST,
    LISTED,
    RAW,
    TIMERS,
    UNION,
    UNKNOWN_KIND,
    UNNAMED,
    OperatorInventory,
    StateInventory,
)
from snapshots.domain.inventory.upgrade.answer import (
    EMPTY,
    KEPT,
    LOST,
    MIGRATED,
    STATE_NOT_KNOWN,
    STATE_REFUSED,
    StateUpgrade,
)
from snapshots.domain.inventory.upgrade.compatibility import Compatibility, Fit, compatibility
from snapshots.domain.inventory.upgrade.new_job import DeclaredState, NewOperator
from snapshots.domain.inventory.upgrade.type_text import arrows, parse
from snapshots.domain.model.defects import times

COORDINATOR_KIND = "coordinator"
SOURCE_READER = "SourceReaderState"
PYTHON = "python-state-"  # the names of PyFlink's states begin so in worker processes
_OF_OPERATOR = (LISTED, UNION, BROADCAST)
_FATES = {Fit.SAME: KEPT, Fit.MIGRATED: MIGRATED, Fit.REFUSED: STATE_REFUSED}

_NEW = (
    EMPTY,
    "The savepoint has no state of this name in this operator: it begins empty, and Flink does "
    "not say so.",
)
_MAYBE_NEW = (
    STATE_NOT_KNOWN,
    "The savepoint has states in this operator whose names are not known here. Whether this is "
    "one of them is not known.",
)


def states_of(before: OperatorInventory, after: NewOperator) -> tuple[StateUpgrade, ...]:
    """Return what becomes of each state, those of the savepoint first."""
    return tuple(_states_of(before, after))


def dropped(before: OperatorInventory) -> tuple[StateUpgrade, ...]:
    """Return the states of an operator that the new job does not have."""
    return tuple(
        _state(state, LOST, "No operator of the new job claims it.")
        for state in before.states
        if not _is_empty_timers(state)
    )


def _states_of(before: OperatorInventory, after: NewOperator) -> Iterator[StateUpgrade]:
    declared = None if after.states is None else {state.name: state for state in after.states}
    for state in before.states:
        if not _is_empty_timers(state):
            yield _fate(state, declared, after.timers)
    names = {name for state in before.states for name in _names(state)}
    for new in (declared or {}).values():
        if new.name not in names:
            fate, why = _NEW if UNNAMED not in names else _MAYBE_NEW
            yield StateUpgrade(new.name, new.kind, fate, why, type_after=new.type)


def _names(state: StateInventory) -> tuple[str, ...]:
    """Return the names that a state may be declared by: Flink's, and the one in Python."""
    name = state.name or ""
    return (name, name.removeprefix(PYTHON)) if name.startswith(PYTHON) else (name,)


def _fate(
    state: StateInventory,
    declared: dict[str, DeclaredState] | None,
    timers: tuple[str, ...] | None,
) -> StateUpgrade:
    if state.kind in (COORDINATOR_KIND, RAW):
        return _state(state, KEPT, "The operator gets it back as bytes and reads it itself.")
    if state.name == SOURCE_READER:
        return _state(
            state,
            KEPT,
            "The splits are bytes of the source's own serializer: the source gets them back, and "
            "must still be of the same class to read them.",
        )
    if state.kind == UNKNOWN_KIND:
        return _state(
            state,
            STATE_NOT_KNOWN,
            "These bytes belong to states whose description is not read here. Flink itself reads "
            "it, and takes each state that the new operator registers."
            if state.name == UNNAMED
            else "The description of this state is not read here, so its kind and type cannot be "
            "compared. Flink itself reads it.",
        )
    if state.kind == TIMERS and timers is not None:
        return _timers(state, timers)
    if declared is None:
        return _state(
            state,
            STATE_NOT_KNOWN,
            "The description of the new job does not list the states of this operator.",
        )
    if state.kind == TIMERS:
        return _state(
            state,
            STATE_NOT_KNOWN,
            f"{times(state.entries or 0, 'timer')} came with it: a list of states does not tell "
            "whether the operator still registers its timers.",
        )
    new = next((declared[name] for name in _names(state) if name in declared), None)
    if new is None:
        return _unclaimed(state)
    if len(_names(state)) > 1:
        return _state(
            state,
            STATE_NOT_KNOWN,
            "Flink gives it back as bytes, which a worker process of Python wrote. No file tells "
            "their type in Python, so it is not known whether the new function can read them.",
            new.type,
        )
    if new.kind is not None and new.kind != state.kind:
        return _state(
            state,
            STATE_REFUSED,
            f"It was {_a(state.kind)} and becomes {_a(new.kind)}: Flink refuses to register a "
            "state of another kind under the same name."
            if (new.kind in _OF_OPERATOR) == (state.kind in _OF_OPERATOR)
            else f"It was {_a(state.kind)} and becomes {_a(new.kind)}, which Flink keeps apart.",
            new.type,
        )
    found = _compared(state, new)
    return _state(state, _FATES.get(found.fit, STATE_NOT_KNOWN), _sentence(found), new.type)


def _timers(state: StateInventory, services: tuple[str, ...]) -> StateUpgrade:
    """Tell whether the new operator has the timer service, which gives the state its name."""
    count = times(state.entries or 0, "timer")
    if any((state.name or "").endswith(f"_{service}") for service in services):
        return _state(state, KEPT, f"{count} come back in the timer service of the same name.")
    return _state(
        state, LOST, f"The new operator has no timer service of this name: {count} never fire."
    )


def _unclaimed(state: StateInventory) -> StateUpgrade:
    if state.entries == 0 and state.complete:
        return _state(state, KEPT, "The new operator does not register it, but it holds nothing.")
    return _state(
        state,
        LOST,
        "The new operator registers no state of this name: Flink starts without a word, and the "
        "next checkpoint leaves it out.",
    )


def _compared(state: StateInventory, new: DeclaredState) -> Compatibility:
    """Compare key, user key and value; the key of the stream may not even migrate."""
    if new.type is None:
        return Compatibility(
            Fit.UNKNOWN, "the description of the new job does not tell the type of its values"
        )
    if state.type is None:
        return Compatibility(Fit.UNKNOWN, "the savepoint does not tell the type of its values")
    before, after = arrows(state.type_in_full or state.type), arrows(new.type)
    if state.kind not in _OF_OPERATOR:
        key, *before = before
        if new.key is not None:
            found = _of_texts(key, new.key, "the keys")
            if found.fit is Fit.MIGRATED:
                return Compatibility(Fit.REFUSED, f"{found.why}, but keys cannot be migrated")
            if found.fit is not Fit.SAME:
                return found
    if len(before) != len(after):
        return Compatibility(
            Fit.UNKNOWN, f"“{new.type}” does not have the form of “{' → '.join(before)}”"
        )
    words = ("the keys of its map", "the values") if len(before) == 2 else ("the values",)
    found_all = [
        _of_texts(first, second, word)
        for first, second, word in zip(before, after, words, strict=False)
    ]
    return max(found_all, key=lambda one: one.fit)


def _of_texts(before: str, after: str, where: str) -> Compatibility:
    old, new = parse(before), parse(after)
    if old is None or new is None:
        unread = before if old is None else after
        return Compatibility(Fit.UNKNOWN, f"“{unread[:100]}” is no type that is known here")
    return compatibility(old, new, where)


def _sentence(found: Compatibility) -> str:
    if found.fit is Fit.SAME:
        return "Name, kind and type are the same."
    why = found.why[0].upper() + found.why[1:]
    return {
        Fit.MIGRATED: f"{why}: Flink migrates the values.",
        Fit.UNKNOWN: f"Whether its values can be read is not known: {found.why}.",
        Fit.REFUSED: f"{why}: Flink refuses the state when the operator registers it.",
    }[found.fit]


def _state(
    state: StateInventory, fate: str, sentence: str, type_after: str | None = None
) -> StateUpgrade:
    return StateUpgrade(
        state.name or "",
        state.kind,
        fate,
        sentence,
        state.type_in_full or state.type,
        type_after,
        state.entries,
        state.bytes,
    )


def _is_empty_timers(state: StateInventory) -> bool:
    return state.kind == TIMERS and state.entries == 0


def _a(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
