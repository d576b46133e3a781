"""Many batches of one state are rebuilt from few reads, as reads of each would return them.

The answers come from the decoder of the files, which agrees with Spark (``test_entries``).
"""

from dataclasses import replace

import pytest

from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.state.stored_state import (
    read_changes,
    read_partition,
)
from snapshots.readers.engines.spark_streaming.upload import read_checkpoint
from tasks.spark.engine_state import history as streaming_history
from tasks.spark.engine_state.history import History, same_rows
from tasks.spark.engine_state.state import StateRead, StateRequest
from tests.readers.engines.spark_streaming.cases import unpack

LAST = 11


class Files:
    """Answers requests from the files of a case, and keeps the requests."""

    def __init__(self, checkpoint, spoil=lambda row: row) -> None:
        self.checkpoint, self.spoil, self.asked = checkpoint, spoil, []

    def read(self, request: StateRequest) -> StateRead:
        self.asked.append((request.changes_from, request.batch))
        rows = {}
        for partition in (0, 1):
            place = (self.checkpoint, 0, request.reading, partition)
            if request.changes_from is None:
                rows[partition] = read_partition(*place, request.batch + 1, SparkLimits())
            else:
                batches = range(request.changes_from, request.batch + 1)
                found = read_changes(*place, batches, SparkLimits())
                rows[partition] = [self.spoil(row) for row in found]
        return StateRead(request, request.batch, True, rows)


@pytest.fixture
def checkpoint(shared_data, tmp_path):
    return read_checkpoint(unpack(shared_data / "spark-streaming/window-agg-hdfs.zip", tmp_path)[0])


def history(
    files: Files,
    batches=range(LAST + 1),
    has_changes=lambda batch: True,
    together=lambda *_: {},
    **options,
) -> History:
    request = StateRequest()
    return History(files.read, together, request, has_changes, frozenset(batches), **options)


def as_each_is_read(files: Files, told: History, batches) -> bool:
    """Return whether the history returns what a read of every batch returns."""
    return all(
        same_rows(told.at(batch), Files(files.checkpoint).read(StateRequest(batch=batch)))
        for batch in reversed(batches)
    )


def test_twelve_batches_take_three_reads(checkpoint):
    files = Files(checkpoint)
    assert as_each_is_read(files, history(files), range(LAST + 1))
    assert files.asked == [(None, LAST), (None, 0), (1, LAST)]


def test_a_batch_can_be_asked_for_twice(checkpoint):
    told = history(Files(checkpoint))
    told.at(LAST)
    assert told.at(5) == told.at(5)


def test_a_feed_that_does_not_end_as_the_batch_was_read_is_not_used(checkpoint):
    files = Files(checkpoint, lambda row: row | {"value": {"count": 0, "sum": 0}})
    assert as_each_is_read(files, history(files), range(LAST + 1))
    assert [one for one in files.asked if one[0] is not None] == [(1, LAST)]
    assert len(files.asked) == 1 + 2 + LAST


def test_a_state_without_a_feed_takes_few_queries_newest_batches_first(checkpoint):
    files, queries = Files(checkpoint), []

    def together(request, batches, most_rows):
        queries.append((list(batches), most_rows))
        return {b: Files(checkpoint).read(replace(request, batch=b)) for b in batches}

    told = history(files, together=together, by_changes=False, partitions=2)
    assert as_each_is_read(files, told, range(LAST + 1))
    newest_first = list(range(LAST, -1, -1))
    stretches = (newest_first[:5], newest_first[5:])
    assert (files.asked, queries) == (
        [],
        [(stretch, streaming_history.MOST_KEPT) for stretch in stretches],
    )


def test_a_query_has_as_many_batches_as_its_tasks_allow(checkpoint, monkeypatch):
    monkeypatch.setattr(streaming_history, "MOST_TASKS", 10)
    files, queries = Files(checkpoint), []

    def together(request, batches, most_rows):
        queries.append(list(batches))
        return {b: Files(checkpoint).read(replace(request, batch=b)) for b in batches}

    told = history(files, [0, *range(2, 12)], together=together, by_changes=False, partitions=2)
    assert as_each_is_read(files, told, [0, *range(2, 12)])
    assert queries == [[11, 10, 9, 8, 7], [6, 5, 4, 3, 2]]
    assert files.asked == [(None, 0)]


def test_what_cannot_be_read_together_is_read_batch_by_batch(checkpoint):
    files = Files(checkpoint)
    told = history(files, together=lambda *_: {}, by_changes=False)
    assert as_each_is_read(files, told, range(LAST + 1))
    assert len(files.asked) == LAST + 1


def test_stretches_end_where_batches_or_their_changes_lack(checkpoint):
    files = Files(checkpoint)
    batches = [*range(5), *range(6, LAST + 1)]
    assert as_each_is_read(files, history(files, batches), batches)
    assert files.asked == [(None, 11), (None, 6), (7, 11), (None, 4), (None, 0), (1, 4)]
    files = Files(checkpoint)
    told = history(files, has_changes=lambda batch: batch > 6)
    assert as_each_is_read(files, told, range(4, LAST + 1))
    assert files.asked == [(None, 11), (None, 6), (7, 11), (None, 5), (None, 4)]


def test_a_stretch_is_as_long_as_there_is_room_for_its_rows(checkpoint, monkeypatch):
    monkeypatch.setattr(streaming_history, "MOST_KEPT", 20)  # batch 11 has 6 rows
    files = Files(checkpoint)
    assert as_each_is_read(files, history(files), range(LAST + 1))
    assert files.asked[:3] == [(None, 11), (None, 8), (9, 11)]


def test_truncated_reads_are_not_built_upon(checkpoint):
    files = Files(checkpoint)
    read = files.read
    files.read = lambda request: replace(read(request), truncated=request.changes_from is not None)
    assert as_each_is_read(files, history(files), range(LAST + 1))
    assert len(files.asked) == 1 + 2 + LAST
