"""Disks that fail, writers that die, and bodies that are meant to hold the server up."""

import os
import random
import threading
from collections import Counter
from itertools import pairwise

import pytest

from snapshots.domain.model.defects import InputRefused
from snapshots.growing import bodies, frames
from snapshots.growing.errors import JournalDamaged
from snapshots.growing.frames import framed
from snapshots.growing.journal import Journal, Taken
from snapshots.growing.runs import ProcessRuns, Stretch
from tests.growing.test_journal import PLENTY, body, event, new_journal


@pytest.mark.parametrize("byte", range(frames.HEAD_BYTES))
def test_a_wrong_head_is_damage_and_nothing_is_cut(tmp_path, byte):
    journal = new_journal(tmp_path)
    ends = []
    for index in range(10):
        journal.take(body(event("A", index)), PLENTY)
        ends.append(journal.size)
    content = bytearray((tmp_path / "journal").read_bytes())
    content[ends[2] + byte] ^= 0x40
    (tmp_path / "journal").write_bytes(content)
    with pytest.raises(JournalDamaged, match=f"damaged at byte {ends[2]:,}"):
        Journal(tmp_path / "journal")
    assert (tmp_path / "journal").read_bytes() == content


@pytest.mark.parametrize("back", [1, 30, 60])
def test_a_last_frame_that_is_whole_and_wrong_is_damage(tmp_path, back):
    journal = new_journal(tmp_path)
    journal.take(body(event("A", 0)), PLENTY)
    content = bytearray((tmp_path / "journal").read_bytes())
    content[-back] ^= 1
    (tmp_path / "journal").write_bytes(content)
    with pytest.raises(JournalDamaged):
        Journal(tmp_path / "journal")


def test_a_last_frame_of_which_a_sector_was_never_written_is_cut(tmp_path):
    journal = new_journal(tmp_path)
    size = journal.size
    journal.take(body(event("A", 0, text="x" * 3000)), PLENTY)
    content = bytearray((tmp_path / "journal").read_bytes())
    content[1024:1536] = bytes(512)
    (tmp_path / "journal").write_bytes(content)
    assert Journal(tmp_path / "journal").size == size


def test_a_journal_that_became_shorter_is_damage(tmp_path):
    journal = new_journal(tmp_path)
    journal.take(body(event("A", 0)), PLENTY)
    os.truncate(tmp_path / "journal", journal.size - 3)
    with pytest.raises(JournalDamaged, match="older copy"):
        journal.take(body(event("A", 1)), PLENTY)


def test_an_event_that_could_not_be_kept_is_seen_by_nobody(tmp_path, monkeypatch):
    """Another process looks while the first one finds that the disk fails."""
    one, two = new_journal(tmp_path), Journal(tmp_path / "journal")
    one.take(body(event("A", 0)), PLENTY)
    seen = threading.Thread(target=two.read_on)

    def fail(file):
        monkeypatch.undo()
        seen.start()
        seen.join(timeout=0.2)
        raise OSError(5, "the disk fails")

    monkeypatch.setattr(frames.os, "fsync", fail)
    with pytest.raises(OSError, match="the disk fails"):
        one.take(body(event("A", 1)), PLENTY)
    seen.join()
    assert two.events == 1
    assert two.take(body(event("A", 1, state=2)), PLENTY) == Taken(1, 0)
    assert one.take(body(event("B", 0)), PLENTY) == Taken(1, 0)
    assert Journal(tmp_path / "journal").events == 3


def test_what_a_dead_process_wrote_is_on_the_disk_before_it_is_acknowledged(tmp_path, monkeypatch):
    journal, other = new_journal(tmp_path), Journal(tmp_path / "journal")
    synced = Counter()
    fsync = os.fsync

    def skip(file):
        synced["skipped"] += 1

    def count(file):
        synced["done"] += 1
        fsync(file)

    monkeypatch.setattr(frames.os, "fsync", skip)
    other.take(body(event("A", 0)), PLENTY)
    monkeypatch.setattr(frames.os, "fsync", count)
    assert journal.take(body(event("A", 0)), PLENTY) == Taken(0, 1)
    assert synced == {"skipped": 1, "done": 1}
    journal.take(body(event("A", 0)), PLENTY)
    assert synced["done"] == 1, "nothing new was written since"


def test_an_event_that_is_too_long_as_it_is_kept_is_refused(tmp_path):
    journal = new_journal(tmp_path)
    given = b'{"kind":"internal","process":"A","index":0,"state":[%s]}' % b",".join([b"1e15"] * 99)
    with pytest.raises(InputRefused) as refused:
        journal.take(given, PLENTY, longest_line=len(given) + 100)
    assert refused.value.defects[0].code == "line-too-long"
    assert journal.take(given, PLENTY, longest_line=10 * len(given)) == Taken(1, 0)


def test_a_body_of_faults_is_read_only_until_enough_are_found(tmp_path, monkeypatch):
    read = Counter()
    parse_lines = bodies.parse_lines

    def counted(piece, *rest):
        read["bytes"] += len(piece)
        return parse_lines(piece, *rest)

    monkeypatch.setattr(bodies, "parse_lines", counted)
    with pytest.raises(InputRefused):
        new_journal(tmp_path).take(b"1\n" * 2**20, PLENTY)
    assert read["bytes"] < 2**18


def test_lines_are_counted_through_all_pieces_of_a_body(tmp_path):
    lines = [b"" if n % 3 else body(event("A", n // 3))[:-1] for n in range(6000)]
    lines[5998] = b"{"
    with pytest.raises(InputRefused) as refused:
        new_journal(tmp_path).take(b"\n".join(lines), PLENTY)
    assert [each.line for each in refused.value.defects] == [5999]


def test_many_gaps_are_noted_together_for_each_frame(tmp_path, monkeypatch):
    """The stretches that are looked at grow with the frame, and not with the frames before."""
    many = 3000
    journal = new_journal(tmp_path)
    journal.take(body(*(event("A", 2 * n + 2 * many) for n in range(many))), PLENTY)
    looked = Counter()
    at = ProcessRuns._at

    def counted(runs, place):
        looked["at"] += 1
        return at(runs, place)

    monkeypatch.setattr(ProcessRuns, "_at", counted)
    journal.take(body(*(event("A", 2 * n) for n in range(many))), PLENTY)
    assert looked["at"] <= 2 * many
    assert (journal.gap_count, journal.missing) == (2 * many - 1, 2 * many - 1)
    monkeypatch.undo()
    read = Counter()
    monkeypatch.setattr(Journal, "lines_of", _counted(Journal.lines_of, read))
    whole = new_journal(tmp_path, "whole")
    whole.take(body(*(event("A", n) for n in range(2 * many))), PLENTY)
    whole.take(body(*(event("A", 2 * n) for n in range(many))), PLENTY)
    assert read["calls"] == 1, "a stretch is read once for all events that are in it"


def _counted(function, calls):
    def call(*given):
        calls["calls"] += 1
        return function(*given)

    return call


def test_holes_are_those_of_the_indices_however_stretches_come():
    draw = random.Random(7)
    for _ in range(300):
        runs, there = ProcessRuns(), set()
        free = list(range(60))
        while free and draw.random() < 0.9:
            some = sorted(draw.sample(free, draw.randint(1, len(free))))
            runs.add([Stretch(index, 1, 0, 1) for index in some])
            there |= set(some)
            free = [index for index in free if index not in there]
            end = max(there) + 1
            missing = {n for first, stop in runs.holes for n in range(first, stop)}
            assert missing == set(range(end)) - there
            assert runs.holes == sorted(runs.holes)
            assert all(one[1] < two[0] for one, two in pairwise(runs.holes))
            assert (runs.end, runs.events, runs.missing) == (end, len(there), len(missing))


def test_the_time_at_which_it_was_heard_from_does_not_change_with_the_file(tmp_path):
    journal = new_journal(tmp_path)
    before = journal.heard_at
    journal.take(body(event("A", 0)), PLENTY)
    heard = journal.received(9).heard_at
    assert heard > before
    with (tmp_path / "journal").open("ab") as file:
        file.write(framed(b"E" * 99)[:50])
    os.utime(tmp_path / "journal", (1, 1))
    again = Journal(tmp_path / "journal")
    again.take(body(event("A", 0)), PLENTY)
    assert again.received(9).heard_at == heard
