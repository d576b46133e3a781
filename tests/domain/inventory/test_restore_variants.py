"""What a restore reads again is counted where positions tell, and else is not known."""

from dataclasses import replace

import pytest

from snapshots.domain.inventory.batches import PlannedSource
from snapshots.domain.inventory.model import CheckpointInventory
from snapshots.domain.inventory.positions import NUMBERS, OFFSETS, Position, SourceSplits, distance
from snapshots.domain.inventory.reading_again import SourceAgain
from snapshots.domain.inventory.restore_variants import (
    newest_of,
    read_by_sources,
    run_again,
    too_many_batches,
    why_not_read,
)


def at(split, number, unit=NUMBERS):
    return Position(split, number, None, unit, "", "")


@pytest.mark.parametrize(
    ("earlier", "later", "expected"),
    [
        ([at("1", 5), at("2", 7)], [at("2", 8), at("1", 15)], 11),
        ([at("1", 5)], [at("1", 5)], 0),
        ([at("1", 5)], [at("2", 9)], None),
        ([at("1", 5)], [at("1", 9), at("2", 3)], None),  # where 2 began is not known
        ([at("1", 5)], [at("1", 4)], None),
        ([at("1", None)], [at("1", 4)], None),
        ([at("1", -2)], [at("1", 4)], None),
        ([], [], None),
    ],
)
def test_the_distance_of_positions(earlier, later, expected):
    assert distance(earlier, later) == expected


def a_source(id, *splits):
    return SourceAgain(id, id, (), "", True, "", splits)


def test_sources_are_counted_together_and_the_others_are_named():
    own = [a_source("a", at("1", 5)), a_source("b", at("1", 1))]
    newest = {"a": SourceSplits((at("1", 8),)), "b": SourceSplits((at("1", 11),))}
    again = read_by_sources(own, newest, "checkpoint 9")
    assert (again.records, again.unit) == (13, "record")
    assert again.sentence == (
        "13 records read before checkpoint 9 are read again, and so is all that was read after it."
    )
    partly = read_by_sources([*own, a_source("rules")], newest, "checkpoint 9")
    assert partly.records is None
    assert partly.sentence == (
        "13 records read before checkpoint 9 are read again, and so is all that was read after it. "
        "Not counted, because not known: those of rules."
    )
    for sources in ([], [a_source("rules")]):
        nothing = read_by_sources(sources, newest, "checkpoint 9")
        assert nothing.records is None
        assert "is not known: no source has positions" in nothing.sentence


@pytest.mark.parametrize(
    ("status", "path", "words"),
    [
        ("failed", None, "It is failed: no source can go back to it."),
        ("in progress", None, "It is in progress: no source can go back to it."),
        ("completed", None, "its files, which hold the positions of its sources, are not in"),
        ("unknown", "chk-7", "nor is whether it was completed"),
    ],
)
def test_what_was_not_completed_or_has_no_files_is_no_place_to_read_from(status, path, words):
    again = why_not_read(CheckpointInventory("job", 7, "checkpoint", status, path))
    assert again is not None
    assert again.records is None
    assert words in again.sentence
    assert why_not_read(CheckpointInventory("job", 7, "checkpoint", "completed", "chk-7")) is None


@pytest.mark.parametrize("whole", ["job", "pipeline"])
def test_the_newest_is_that_of_its_own_job_or_pipeline(whole):
    again = newest_of(whole)
    assert again.records is None
    assert again.sentence.startswith(f"It is the newest of its {whole} that was completed and has")


def test_offsets_of_kafka_are_not_called_records():
    own = [a_source("a", at("t-0", 5, OFFSETS))]
    newest = {"a": SourceSplits((at("t-0", 6, OFFSETS),))}
    again = read_by_sources(own, newest, "checkpoint 9")
    assert (again.unit, again.sentence[:27]) == ("offset", "1 offset read before checkp")


def a_batch(number, *ranges, status="completed"):
    return CheckpointInventory("q", number, "batch", status, ranges=ranges)


def a_range(rows=None, offsets=None, start="1", end="2", files=None):
    return PlannedSource("0", None, start, end, True, rows=rows, offsets=offsets, files_total=files)


def test_batches_that_run_again():
    own = a_batch(3, a_range(rows=9))
    assert run_again(own, []).records == 0
    planned = a_batch(3, a_range(rows=9), status="in progress")
    again = run_again(planned, [])
    assert again.sentence == "Batch 3 runs again with the same offsets: 9 records."
    later = [a_batch(4, a_range(rows=5), a_range(end="1")), a_batch(5, a_range(rows=2))]
    again = run_again(own, later)
    assert (again.records, again.unit) == (7, "record")
    assert again.sentence == (
        "The ranges of batches 4 to 5 are read again: 7 records. The files of later batches in "
        "offsets and commits have to be removed first."
    )


def test_a_batch_whose_rows_nobody_counted_leaves_the_sum_open():
    own = a_batch(3)
    assert run_again(own, [a_batch(4, a_range())]).records is None
    assert run_again(own, [a_batch(4)]).records is None
    assert "how much is not known" in run_again(own, [a_batch(4)]).sentence
    by_offsets = run_again(own, [a_batch(4, a_range(offsets=6))])
    assert (by_offsets.records, by_offsets.unit) == (6, "offset")
    many = too_many_batches(own, 900)
    assert many.records is None
    assert many.sentence.startswith("The ranges of batches 4 to 900 are read again: too many")


def test_files_are_counted_where_nobody_counted_their_rows():
    own, later = a_batch(3), [a_batch(4, a_range(files=1)), a_batch(5, a_range(files=2))]
    again = run_again(own, later)
    assert again.records is None
    assert "are read again: 3 files; the number of their records is not known." in again.sentence
    assert "how much is not known" in run_again(own, [*later, a_batch(6, a_range())]).sentence


def test_a_batch_in_flight_runs_again_unless_its_files_are_removed():
    otherwise = " Otherwise a restart runs batch 5 again."
    committed, planned = (
        a_batch(4, a_range(rows=1)),
        a_batch(5, a_range(rows=2), status="in progress"),
    )
    assert run_again(a_batch(3), [committed, planned]).sentence.endswith(f"first.{otherwise}")
    assert run_again(a_batch(3), [committed]).sentence.endswith("removed first.")
    doubtful = a_batch(4, a_range(rows=1), status="unknown")
    assert run_again(a_batch(3), [doubtful, planned]).sentence.endswith("removed first.")


def test_a_source_with_splits_of_an_unknown_form_is_not_counted():
    own = [a_source("a", at("1", 5))]
    newest = {"a": SourceSplits((at("1", 8),), unknown=1)}
    assert read_by_sources(own, newest, "checkpoint 9").records is None
    own = [replace(own[0], unknown=1)]
    assert read_by_sources(own, {"a": SourceSplits((at("1", 8),))}, "x").records is None
