"""An open recording has every event that was acknowledged, once, however its bodies came."""

import json
import multiprocessing
import os
import random
import signal
import tempfile
from pathlib import Path

import pytest

from snapshots.domain.model.defects import InputRefused
from snapshots.growing.canonical import canonical_log
from snapshots.growing.errors import (
    Contradiction,
    JournalClosed,
    JournalDamaged,
    JournalFull,
    JournalGone,
)
from snapshots.growing.frames import framed
from snapshots.growing.journal import Journal, Taken, first_frame
from snapshots.growing.runs import Gap
from snapshots.readers.formats.limits import Limits
from snapshots.readers.logs.headers import header_text, parse_header

PROCESSES = ("A", "B", "C")
PLENTY = 2**40
LONG = pytest.mark.long  # docs/tests.md


def header(processes=PROCESSES):
    fields = {
        "kind": "header",
        "format": "cutline",
        "version": 1,
        "name": "banks",
        "time_unit": "us",
        "origin": 5,
        "processes": [{"id": name, "state": 1} for name in processes],
        "channels": [{"id": "A->B", "source": "A", "target": "B"}],
    }
    return parse_header(fields, 1, Limits())


def new_journal(folder, name="journal"):
    path = folder / name
    path.write_bytes(first_frame(header()))
    return Journal(path)


def event(process, index, **fields):
    return {"kind": "internal", "process": process, "index": index, "at": 10 * index} | fields


def body(*events):
    return b"".join(json.dumps(each).encode() + b"\n" for each in events)


def whole(journal):
    return b"".join(canonical_log(journal))


def in_order(events):
    """Sort as the canonical log does, in another way than it."""
    instants = {}
    for each in sorted(events, key=lambda each: (each["process"], each["index"])):
        before = instants.get((each["process"], "last"), -1)
        instant = before if each.get("at") is None else each["at"]
        instants[each["process"], "last"] = instants[each["process"], each["index"]] = instant
    return sorted(
        events,
        key=lambda each: (
            instants[each["process"], each["index"]],
            PROCESSES.index(each["process"]),
            each["index"],
        ),
    )


def test_a_body_that_comes_twice_changes_nothing(tmp_path):
    journal = new_journal(tmp_path)
    some = body(event("A", 0), event("A", 1), event("B", 0))
    assert journal.take(some, PLENTY) == Taken(3, 0)
    size = journal.size
    assert journal.take(some, PLENTY) == Taken(0, 3)
    assert (journal.size, journal.events) == (size, 3)


def test_the_fields_of_the_same_event_may_stand_in_another_order(tmp_path):
    journal = new_journal(tmp_path)
    journal.take(b'{"kind":"internal","process":"A","index":0,"state":{"x":1,"y":2}}', PLENTY)
    again = b'{ "index": 0, "process": "A", "state": {"y": 2, "x": 1}, "kind": "internal" }\r\n'
    assert journal.take(again, PLENTY) == Taken(0, 1)


def test_an_overlap_brings_what_is_new(tmp_path):
    journal = new_journal(tmp_path)
    journal.take(body(event("A", 2), event("A", 3), event("A", 6)), PLENTY)
    assert journal.take(body(*(event("A", n) for n in range(1, 8))), PLENTY) == Taken(4, 3)
    assert journal.gaps(9) == [Gap("A", 0, 1)]


def test_another_event_at_the_same_place_is_refused_with_both_and_nothing_is_taken(tmp_path):
    journal = new_journal(tmp_path)
    journal.take(body(event("A", 0), event("A", 1)), PLENTY)
    size = journal.size
    with pytest.raises(Contradiction) as refused:
        journal.take(body(event("B", 0), event("A", 1, state=7), event("A", 2)), PLENTY)
    assert (refused.value.process, refused.value.index, refused.value.line) == ("A", 1, 2)
    assert json.loads(refused.value.there) == event("A", 1)
    assert json.loads(refused.value.given) == event("A", 1, state=7)
    assert (journal.size, journal.events) == (size, 2)


def test_a_body_that_contradicts_itself_is_refused(tmp_path):
    journal = new_journal(tmp_path)
    with pytest.raises(InputRefused) as refused:
        journal.take(body(event("A", 0), event("A", 0, state=1)), PLENTY)
    first = refused.value.defects[0]
    assert (first.code, first.line, first.field) == ("index-twice", 2, "index")
    assert "the other in line 1" in first.sentence
    assert journal.take(body(event("A", 0), event("A", 0)), PLENTY) == Taken(1, 0)


def test_a_gap_is_said_and_closes(tmp_path):
    journal = new_journal(tmp_path)
    journal.take(body(event("B", 5), event("B", 9)), PLENTY)
    assert journal.gaps(9) == [Gap("B", 0, 5), Gap("B", 6, 3)]
    assert (journal.gap_count, journal.missing) == (2, 8)
    assert journal.gaps(1) == [Gap("B", 0, 5)]
    journal.take(body(event("B", 7)), PLENTY)
    assert journal.gaps(9) == [Gap("B", 0, 5), Gap("B", 6, 1), Gap("B", 8, 1)]
    journal.take(body(*(event("B", n) for n in range(9))), PLENTY)
    assert journal.gaps(9) == []
    assert journal.runs[1].unbroken == 10


@pytest.mark.parametrize(
    ("line", "code", "field"),
    [
        (b'{"kind":"internal","process":"D","index":0}', "unknown-process", "process"),
        (b'{"kind":"internal","process":"A"}', "missing-field", "index"),
        (b'{"kind":"internal","process":"A","index":-1}', "number-range", "index"),
        (
            b'{"kind":"send","process":"B","index":0,"channel":"A->B","message":1}',
            "wrong-end",
            None,
        ),
        (b'{"kind":"header","process":"A","index":0}', "header-twice", "kind"),
        (b"{", "not-json", None),
    ],
)
def test_what_an_upload_would_refuse_is_refused_with_line_and_field(tmp_path, line, code, field):
    journal = new_journal(tmp_path)
    size = journal.size
    with pytest.raises(InputRefused) as refused:
        journal.take(body(event("A", 0)) + line, PLENTY)
    first = refused.value.defects[0]
    assert (first.code, first.line) == (code, 2)
    assert field is None or first.field == field
    assert journal.size == size


def test_a_closed_journal_takes_nothing(tmp_path):
    journal = new_journal(tmp_path)
    journal.end()
    journal.end()
    with pytest.raises(JournalClosed):
        journal.take(body(event("A", 0)), PLENTY)
    assert Journal(tmp_path / "journal").is_closed


def test_a_journal_that_was_deleted_takes_nothing(tmp_path):
    journal = new_journal(tmp_path)
    (tmp_path / "journal").unlink()
    with pytest.raises(JournalGone):
        journal.take(body(event("A", 0)), PLENTY)


def test_a_journal_that_is_full_keeps_what_it_has(tmp_path):
    journal = new_journal(tmp_path)
    journal.take(body(event("A", 0)), PLENTY)
    size = journal.size
    with pytest.raises(JournalFull):
        journal.take(body(event("A", 1)), size + 10)
    assert (tmp_path / "journal").stat().st_size == size


def test_two_web_processes_append_to_one_journal(tmp_path):
    one = new_journal(tmp_path)
    two = Journal(tmp_path / "journal")
    one.take(body(event("A", 0)), PLENTY)
    assert two.take(body(event("A", 0), event("A", 1)), PLENTY) == Taken(1, 1)
    assert one.take(body(event("A", 1)), PLENTY) == Taken(0, 1)


TORN = framed(b"E" + b"12" * 3000 + b"\n")


@pytest.mark.parametrize("tail", [TORN[:1], TORN[:40], TORN[:-1], bytes(70_000)], ids=len)
def test_a_frame_that_is_cut_short_is_removed_by_the_next_body(tmp_path, tail):
    journal = new_journal(tmp_path)
    journal.take(body(event("A", 0)), PLENTY)
    with (tmp_path / "journal").open("ab") as file:
        file.write(tail)
    assert Journal(tmp_path / "journal").events == 1
    assert journal.take(body(event("A", 1)), PLENTY) == Taken(1, 0)
    assert Journal(tmp_path / "journal").events == 2


def test_a_journal_that_is_damaged_in_between_is_not_cut(tmp_path):
    journal = new_journal(tmp_path)
    journal.take(body(event("A", 0)), PLENTY)
    damaged = journal.size - 5
    journal.take(body(event("A", 1)), PLENTY)
    content = bytearray((tmp_path / "journal").read_bytes())
    content[damaged] ^= 1
    (tmp_path / "journal").write_bytes(content)
    with pytest.raises(JournalDamaged, match=r"at byte [\d,]+"):
        Journal(tmp_path / "journal").take(body(event("A", 2)), PLENTY)
    assert (tmp_path / "journal").read_bytes() == content


@pytest.fixture
def in_memory():
    """A folder in memory, where a thousand journals need not wait for the disk."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


@pytest.mark.parametrize("seeds", [range(60), pytest.param(range(60, 1060), marks=LONG)], ids=len)
def test_the_log_does_not_depend_on_how_the_events_came(in_memory, seeds):
    """Sequences of doubled, overlapping, reordered and missing bodies."""
    for seed in seeds:
        draw = random.Random(seed)
        events = _drawn_events(draw)
        journal = new_journal(in_memory, "drawn")
        came = {}
        for some in _drawn_bodies(draw, events):
            before = len(came)
            came |= {(each["process"], each["index"]): each for each in some}
            assert journal.take(body(*some), PLENTY).new == len(came) - before, seed
            journal = _shaken(draw, journal, in_memory / "drawn", came)
        expected = [header_line(), *map(_line, in_order(list(came.values())))]
        assert whole(journal).splitlines() == expected, seed
        _require_gaps(journal, came)


def header_line():
    return header_text(header())


def _line(each):
    return json.dumps(each, sort_keys=True, separators=(",", ":")).encode()


def _drawn_events(draw):
    events = []
    for process in PROCESSES:
        at = 0
        for index in range(draw.randrange(12)):
            at += draw.choice([0, 0, 1, 5, -2])
            fields = {"at": max(at, 0)} if draw.random() < 0.8 else {}
            each = {"kind": "internal", "process": process, "index": index, "state": index * 3}
            events.append(each | fields)
    return events


def _drawn_bodies(draw, events):
    bodies = []
    for _ in range(draw.randrange(1, 12)):
        process = draw.choice([*PROCESSES, None])
        mine = [each for each in events if process in (None, each["process"])]
        first = draw.randrange(len(mine) + 1)
        bodies.append(mine[first : first + draw.randrange(1, 8)])
    bodies += draw.choices(bodies, k=3)
    draw.shuffle(bodies)
    return bodies


def _shaken(draw, journal, path, came):
    """Let what may happen between two bodies happen."""
    fate = draw.randrange(6)
    if fate == 0:
        with path.open("ab") as file:  # a writer is killed in the middle of a frame
            file.write(framed(draw.randbytes(99))[: draw.randrange(110)])
    if fate == 1 and came:
        each = draw.choice(list(came.values()))
        with pytest.raises(Contradiction):
            journal.take(body(each | {"state": "another"}), PLENTY)
    if fate in (0, 2):
        journal.close()
        return Journal(path)
    return journal


def _require_gaps(journal, came):
    expected = set()
    for process in PROCESSES:
        mine = {index for name, index in came if name == process}
        expected |= {(process, n) for n in range(max(mine, default=0)) if n not in mine}
    said = {
        (gap.process, n)
        for gap in journal.gaps(99)
        for n in range(gap.first, gap.first + gap.count)
    }
    assert said == expected


def test_what_was_acknowledged_before_kill_9_is_there(tmp_path):
    """Three writers append one event a body, and are killed again and again."""
    new_journal(tmp_path)
    context = multiprocessing.get_context("fork")
    acknowledged = dict.fromkeys(PROCESSES, 0)
    for turn in range(6):
        pipes, writers = [], []
        for name in PROCESSES:
            reader, writer = os.pipe()
            start = acknowledged[name]
            writers.append(context.Process(target=_write, args=(tmp_path, name, start, writer)))
            writers[-1].start()
            os.close(writer)
            pipes.append(reader)
        acknowledged[PROCESSES[turn % 3]] += len(os.read(pipes[turn % 3], 1 + 40 * turn))
        for writer in writers:
            os.kill(writer.pid, signal.SIGKILL)
            writer.join()
        for name, pipe in zip(PROCESSES, pipes, strict=True):
            with os.fdopen(pipe, "rb") as answers:
                acknowledged[name] += len(answers.read())
        journal = Journal(tmp_path / "journal")
        for name, runs in zip(PROCESSES, journal.runs, strict=True):
            assert runs.missing == 0
            assert runs.end >= acknowledged[name]
            acknowledged[name] = runs.end  # what was written and not acknowledged counts too


def _write(folder, name, start, answers):
    journal = Journal(folder / "journal")
    index = start
    while True:
        journal.take(body(event(name, index)), PLENTY)
        os.write(answers, b"1")
        index += 1
