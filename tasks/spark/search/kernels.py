"""Find where the conditions of a predicate hold, for ranges of processes of a stored recording."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from snapshots.domain.conditions.conjunctions import (
    Evaluate,
    States,
    Truth,
    conjunction,
    local_truth,
    processes_of,
)
from snapshots.domain.model.recording import APPLICATION_KINDS
from snapshots.domain.model.topology import ProcessId
from snapshots.store.objects.paths import path_of
from snapshots.store.reader import StoredRecording


@dataclass(frozen=True)
class TruthTask:
    """A half-open range of process codes of the store in ``folder``, and the conjunction.

    ``text`` is parsed again, because a compiled expression cannot be pickled.
    """

    folder: str
    text: str
    evaluate: Evaluate
    first: int
    end: int


def find_truth(task: TruthTask) -> dict[ProcessId, Truth]:
    """Find where the conditions on the task's processes hold; the kernel. Raises: TooMuch."""
    recording = StoredRecording.open(path_of(task.folder))
    codes = {process.id: code for code, process in enumerate(recording.topology.processes)}
    conditions = [
        condition
        for condition in conjunction(task.text, frozenset(codes))
        if task.first <= codes[condition.process] < task.end
    ]
    states = {name: stored_states(recording, codes[name]) for name in processes_of(conditions)}
    return local_truth(states, conditions, task.evaluate)


def stored_states(recording: StoredRecording, code: int) -> States:
    """Return a process's states from the columns, as ``conditions.states_of`` does."""
    events = recording.tables.events
    length = int(events.length[code])
    rows = np.flatnonzero(
        np.isin(events.run("kind", code), recording.tables.kind_codes(APPLICATION_KINDS))
    )
    texts = pa.array([recording.topology.processes[code].state], pa.large_string())
    if len(rows):
        own = events.pick(np.full(len(rows), code), rows).array("state")
        texts = pa.concat_arrays([texts, own])
    encoded = texts.dictionary_encode()
    numbers = encoded.indices.fill_null(-1).to_numpy()
    since = np.concatenate(([0], rows + 1, [length + 1]))
    return States(encoded.dictionary.to_pylist(), np.repeat(numbers, np.diff(since)))
