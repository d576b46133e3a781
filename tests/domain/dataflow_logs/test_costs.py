"""What checkpoints cost, read from the log and compared with what the simulator did."""

from functools import cache

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.costs import Cost, Written, cost_of, series_of
from snapshots.domain.simulators.flink.simulation import run_dataflow
from snapshots.domain.simulators.protocols.flink_task import ALIGNED, AT_LEAST_ONCE, UNALIGNED
from snapshots.simulating.compared_modes import MODES, mode_runs
from tests.dataflows import a_run_of, failing, word_count


@cache
def a_run(mode):
    run = a_run_of(word_count(records=60), mode=mode, buffer=2, slow={"count[1]": 3.0})
    return run_dataflow(failing(run, 24_000, "count[0]"))


def cost(mode) -> Cost:
    return cost_of(assemble(*a_run(mode).log).recording)


@pytest.mark.parametrize("mode", MODES)
def test_each_number_is_what_the_simulator_counted(mode):
    found, counted = cost(mode), a_run(mode).counted
    assert len(found.written) == sum(map(len, counted.written.values()))
    spans = [to - since for spans in counted.blocked.values() for _, since, to in spans]
    assert found.blocked_time == sum(spans)
    assert len(found.stored) == len(counted.completed)
    kept = dict.fromkeys(counted.completed, 0)
    for (_, cid), (in_input, overtaken) in counted.channel_state.items():
        if cid in kept:
            kept[cid] += in_input + overtaken
    assert [item.in_flight for item in found.stored] == list(kept.values())
    assert found.duplicates == sum(counted.duplicates.values())
    assert found.failed_at == (24_000,)


def test_aligned_blocks_unaligned_stores_and_at_least_once_counts_twice():
    aligned, once, unaligned = map(cost, (ALIGNED, AT_LEAST_ONCE, UNALIGNED))
    assert aligned.blocked_time > once.blocked_time == unaligned.blocked_time == 0
    assert sum(item.in_flight for item in unaligned.stored) > 0
    assert not any(item.in_flight for item in (*aligned.stored, *once.stored))
    assert once.counted_twice > aligned.counted_twice == unaligned.counted_twice == 0


def test_spans_add_up_to_the_whole():
    found = cost(ALIGNED)
    series = series_of(found, 1_000, 200)
    assert round(sum(series.per_second) / 1_000) == len(found.written)
    assert sum(series.blocked) * 1_000 == pytest.approx(found.blocked_time)
    assert [value is None for value in series.latency] == [not n for n in series.per_second]


def test_without_records_and_with_few_numbers_are_not_known():
    nothing = Cost((), (), (), (), 0, 0)
    assert (nothing.ended_at, nothing.per_second, nothing.middle_latency) == (None, None, None)
    few = Cost((Written(5, 3), Written(9, None)), (), (), (), 0, 0)
    assert (few.ended_at, few.middle_latency, few.high_latency) == (9, 3, None)


def test_best_is_marked_where_runs_differ_and_nowhere_else():
    rows = {row.title: row for row in mode_runs(None).compared().rows}
    assert rows["Counted twice"].best == (True, False, True)
    assert rows["Checkpoints completed"].best == (False, False, False)
    blocked = rows["Channels blocked"]
    assert blocked.best == (False, True, True)
    assert blocked.values[0] > 0 == blocked.values[1] == blocked.values[2]
    assert rows["Throughput"].best[rows["Throughput"].values.index(max(rows["Throughput"].values))]
