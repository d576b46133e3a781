"""Compare the keyed state of the real cases with what Flink and the jobs' operators noted."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from json import dumps
from pathlib import Path

from snapshots.readers.engines.flink.handles import Keyed
from snapshots.readers.engines.flink.keyed.entries import TIMERS, Entry
from snapshots.readers.engines.flink.keyed.keyed_state import KeyedState, Read, read_keyed
from snapshots.readers.engines.flink.metadata import Operator, Subtask
from snapshots.readers.engines.flink.operator_ids import id_of_uid
from snapshots.readers.formats.opaque import Opaque
from tests.readers.engines.flink.cases import Case, load

# Names of states in the notes of the many-types job that differ from the states' own.
_NOTED = {"v_bytes_hex": "v_bytes", "aggregating_acc": "aggregating"}


@dataclass(frozen=True)
class Part:
    """One subtask's keyed state with all its entries."""

    snapshot: int
    """The index of the checkpoint in the case."""
    operator: Operator
    subtask: Subtask
    handle: Keyed
    read: Read
    state: KeyedState
    entries: tuple[Entry, ...]


@dataclass
class Agreement:
    """How far values agree with those that Flink found."""

    expected: int = 0
    """The number of values that Flink found."""
    equal: int = 0
    opaque: int = 0
    wrong: list = field(default_factory=list)
    """Values that differ, and entries that Flink did not find."""
    reasons: Counter = field(default_factory=Counter)
    """Count the opaque values by state and reason."""


@cache
def parts(shared_data: Path, name: str) -> tuple[Part, ...]:
    """Return every subtask with managed keyed state in all snapshots of a case."""
    case = load(shared_data, name)
    return tuple(
        _part(case, number, stored.folder, operator, subtask)
        for number, (_, stored) in enumerate(case.snapshots())
        for operator in stored.metadata.operators
        for subtask in operator.subtasks
        if subtask.managed_keyed is not None
    )


def _part(case: Case, number: int, folder: str, operator: Operator, subtask: Subtask) -> Part:
    read = partial(case.upload.files.read, folder=folder)
    state = read_keyed(subtask.managed_keyed, read, operator.max_parallelism)
    entries = tuple(state.entries)
    return Part(number, operator, subtask, subtask.managed_keyed, read, state, entries)


def agreement(shared_data: Path, name: str) -> Agreement:
    """Compare every value of Flink's own restore with the entries."""
    case, result = load(shared_data, name), Agreement()
    for part in parts(shared_data, name):
        flink = case.snapshots()[part.snapshot][0]["flink"]
        for expected in _expected_handles(flink, part):
            _compare(expected["states"], part, result)
    return result


def _expected_handles(flink: dict, part: Part) -> Iterator[dict]:
    """Yield Flink's state of one subtask; it could not restore changelogs and ForSt."""
    (operator,) = (each for each in flink["operators"] if each["id"] == part.operator.id)
    (subtask,) = (each for each in operator["subtasks"] if each["index"] == part.subtask.index)
    yield from (handle for handle in subtask["managedKeyedState"] if "states" in handle)


def _compare(states: dict, part: Part, result: Agreement) -> None:
    left = defaultdict(list)
    for entry in part.entries:
        left[entry.state, dumps(_where(entry), sort_keys=True)].append(entry)
    if {state.name for state in part.state.states} != set(states):
        result.wrong.append(("states", part.operator.id))
    for name, state in states.items():
        for value in state["values"]:
            result.expected += 1
            _compare_value(name, dict(value), left, result)
    result.wrong += [entry for entries in left.values() for entry in entries]


def _compare_value(name: str, expected: dict, left: dict, result: Agreement) -> None:
    value = expected.pop("value", None)
    if expected.get("namespace", value) is None:
        del expected["namespace"]  # timers have the void namespace written out
    entries = left[name, dumps(expected, sort_keys=True)]
    if not entries:
        result.wrong.append((name, expected))
        return
    entry = entries.pop()
    if isinstance(entry.value, Opaque):
        result.opaque += 1
        result.reasons[name, entry.value.reason] += 1
    elif entry.kind == TIMERS or as_flink(entry.value) == value:
        result.equal += 1
    else:
        result.wrong.append((entry, value))


def _where(entry: Entry) -> dict:
    """Return all of an entry but its value, as expected.json has it."""
    where = {"keyGroup": entry.key_group, "key": as_flink(entry.key)}
    if entry.namespace is not None:
        where["namespace"] = as_flink(entry.namespace)
    if entry.kind == TIMERS:
        where["timestamp"] = entry.value
    return where


def as_flink(value: object) -> object:
    """Return a value as in expected.json.

    That leaves out the fields of SQL rows, and the place of a source's split beside its bytes.
    """
    if isinstance(value, Opaque):
        return "opaque"
    if isinstance(value, list):
        return [as_flink(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {"binaryRow", "arity"} if "binaryRow" in value else value
    if value.keys() == {"position", "hex"}:
        kept = {"hex"}
    return {name: as_flink(item) for name, item in value.items() if name in kept}


def noted(shared_data: Path, name: str) -> Agreement:
    """Compare every value that the operators themselves noted at a snapshot with the entries."""
    case, result = load(shared_data, name), Agreement()
    values = defaultdict(dict)
    for part in parts(shared_data, name):
        for entry in part.entries:
            where = (part.snapshot, part.operator.id)
            values[where][entry.state, str(entry.key)] = entry.value
    for number, (snapshot, _) in enumerate(case.snapshots()):
        for uid, subtasks in snapshot["job"].items():
            for state, key, value in notes(subtasks):
                read = values[number, id_of_uid(uid)].get((state, key))
                _compare_note(state, key, value, read, result)
    return result


def notes(subtasks: dict) -> Iterator[tuple[str, str, object]]:
    """Yield state, key and value of each note that has a value."""
    for notes in subtasks.values():
        for key, values in notes.get("keyed", {}).items():
            values = values if isinstance(values, dict) else {"balance": values}
            for state, value in values.items():
                if value is not None and value not in ([], {}):
                    yield _NOTED.get(state, state), key, value


def _compare_note(state: str, key: str, value: object, read: object, result: Agreement) -> None:
    result.expected += 1
    if isinstance(read, Opaque):
        result.opaque += 1
    elif as_noted(state, read) == value:
        result.equal += 1
    else:
        result.wrong.append((state, key, value, read))


def as_noted(state: str, read: object) -> object:
    """Return a value as in the notes: bytes as hex digits, time-to-live without the time."""
    if state == "v_bytes" and isinstance(read, dict):
        return read["hex"]
    return read["userValue"] if state == "ttl" and isinstance(read, dict) else read
