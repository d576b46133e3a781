"""Find in columns what came again to tasks that went on while those before them restarted.

The reference is ``snapshots.domain.dataflow_logs.failovers.again``, which walks through the events
of a task. Here a record is the code of its rid, and what a task has taken is the first row of each
code since the state that it has now.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from snapshots.domain.dataflow_logs.events import DISCARDED, SKIPPED
from snapshots.domain.dataflow_logs.failovers.again import SKIPPED_DIFFERING, TAKEN_TWICE
from snapshots.domain.dataflow_logs.kinds import RESTART
from snapshots.domain.model.recording import RECEIVE, RECORD_STATE, RESTORE
from snapshots.store.layout import NONE
from snapshots.store.mapped import Ints
from tasks.spark.checkpoints import json_fields

if TYPE_CHECKING:
    from tasks.spark.checkpoints.failover_kernels import Rows, Vertex


@dataclass(frozen=True)
class Again:
    """Records that came again, in the order of the recording.

    what: SKIPPED, SKIPPED_DIFFERING or TAKEN_TWICE.
    failures: the failure behind each, int64[N], or NONE.
    rids: the JSON text of each id, or null.
    """

    what: str
    failures: Ints
    rids: pa.Array


def came_again(vertex: "Vertex") -> list[Again]:
    """Return what came again to the tasks of the vertex."""
    if not vertex.question.goes_on:
        return []
    received = vertex.rows(RECEIVE, without=DISCARDED, with_value=True)
    is_skipped = np.isin(received.step, vertex.rows(RECEIVE, label=SKIPPED).step)
    rids = json_fields.rids(received.extra)
    rid, value = json_fields.codes(rids)[0], json_fields.codes(received.value)[0]
    differs, twice = np.zeros(len(rid), bool), np.zeros(len(rid), bool)
    for process, states in enumerate(_restored(vertex)):
        own = np.flatnonzero((received.process == process) & (rid != NONE))
        taken = np.zeros(0, np.int64)
        for begin, end, kept in states:
            taken = taken[received.step[taken] < kept]
            now = own[(received.step[own] > begin) & (received.step[own] < end)]
            new = now[~is_skipped[now]]
            both = np.concatenate((taken, new))
            first = np.sort(np.unique(rid[both], return_index=True)[1])
            twice[np.setdiff1d(new, both[first])] = True
            taken = both[first]
            skipped = now[is_skipped[now]]
            differs[skipped] = _differ(skipped, taken, rid, value)
    found = ((SKIPPED, is_skipped), (SKIPPED_DIFFERING, differs), (TAKEN_TWICE, twice))
    failures = vertex.failures(received)
    return [Again(what, failures[chosen], rids.filter(pa.array(chosen))) for what, chosen in found]


def counts_of(found: list[Again]) -> dict[int, dict[str, int]]:
    """Return how many records came again because of each failure, by what became of them."""
    counts: dict[int, dict[str, int]] = {}
    for again in found:
        numbers, sizes = np.unique(again.failures[again.failures != NONE], return_counts=True)
        for number, size in zip(numbers.tolist(), sizes.tolist(), strict=True):
            counts.setdefault(number, {})[again.what] = size
    return counts


def _differ(skipped: Ints, taken: Ints, rid: Ints, value: Ints) -> np.ndarray:
    """Tell which skipped rows have another value than the row that was taken before: bool[S]."""
    if not len(taken):
        return np.zeros(len(skipped), bool)
    by_code = taken[np.argsort(rid[taken])]
    place = np.minimum(np.searchsorted(rid[by_code], rid[skipped]), len(by_code) - 1)
    first = by_code[place]
    return (rid[first] == rid[skipped]) & (first < skipped) & (value[first] != value[skipped])


def _restored(vertex: "Vertex") -> list[list[tuple[int, int, int]]]:
    """Return the attempts of each process, as (begin, end, kept) in steps.

    What the process had taken before ``kept`` is in the state with which the attempt begins.
    """
    records = vertex.rows(RECORD_STATE)
    restores = [vertex.rows(kind) for kind in (RESTORE, RESTART)]
    return [_attempts(process, records, restores) for process in range(len(vertex.codes))]


def _attempts(process: int, records: "Rows", restores: list["Rows"]) -> list[tuple[int, int, int]]:
    recorded = {
        int(records.snapshot[row]): int(records.step[row])
        for row in np.flatnonzero(records.process == process)
    }
    begins = sorted(
        (int(rows.step[row]), recorded.get(int(rows.snapshot[row]), NONE))
        for rows in restores
        for row in np.flatnonzero(rows.process == process)
    )
    begins = [(NONE, NONE), *begins]
    ends = [*(step for step, _ in begins[1:]), 2**62]
    return [(begin, end, kept) for (begin, kept), end in zip(begins, ends, strict=True)]
