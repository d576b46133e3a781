"""JSON lines with vector clocks: seen by themselves, or said by a mapping."""

import json
from pathlib import Path

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.defects import InputRefused
from snapshots.readers.formats.limits import Limits
from snapshots.readers.logs.mapped.lines import format_of
from snapshots.readers.logs.mapped.mapping import MappingRefused, parse
from tests.readers.inputs import read, source, text
from tests.readers.mutated import mutated

HOLES = text(
    {"host": 0, "msg": {"type": "tok", "q": 0}, "vc": {"0": 1}},
    {"host": 0, "msg": {"type": "pl"}, "vc": {"0": 2}},
    {"host": 1, "msg": {"type": "tok", "q": 0}, "vc": {"0": 1, "1": 1}},
    {"host": 0, "msg": {"type": "tok", "q": 1}, "vc": {"0": 6, "1": 1}},
)
BOTH_WAYS = {("0->1", "1"), ("1->0", "1")}


def spelt(process, clock, *, as_text=False, as_list=False, base=0, prefix=""):
    """The lines of HOLES with other names of fields and another form of clock."""
    lines = []
    for line in map(json.loads, HOLES.splitlines()):
        counts = [line["vc"].get("0", 0), line["vc"].get("1", 0)]
        named = {f"{prefix}{number + base}": count for number, count in enumerate(counts)}
        value = counts if as_list else named
        name = f"{prefix}{line['host'] + base}"
        lines.append({process: name, clock: json.dumps(value) if as_text else value, "n": 5})
    return text(*lines)


def messages(events):
    return {(event.channel, event.message) for event in events if event.message is not None}


def test_a_hole_is_read_and_named(tmp_path):
    header, events, defects = read(source(tmp_path, HOLES))
    assert messages(events) == BOTH_WAYS
    assert header.extra["shiviz"]["missing_events"] == 3
    assert [(item.code, item.line, item.count) for item in defects] == [("clock-hole", 4, 3)]
    assert defects[0].sentence.startswith('3 events of "0" (3 to 5) are not in the log.')


SPELLINGS = {
    "objects": spelt("process", "vector_clock"),
    "text": spelt("node", "vectorClock", as_text=True),
    "lists": spelt("pid", "clock", as_list=True),
    "lists in text": spelt("id", "timestamp", as_list=True, as_text=True),
    "as DisViz has them": b"\n\n" + spelt("processId", "VCString", as_text=True),
    "a field of no usual name": spelt("wer", "vc"),
}


@pytest.mark.parametrize("data", SPELLINGS.values(), ids=SPELLINGS)
def test_the_fields_are_seen_in_the_lines(tmp_path, data):
    _, events, _ = read(source(tmp_path, data))
    assert messages(events) == BOTH_WAYS


def test_a_comment_between_the_lines_is_named_and_left_out(tmp_path):
    data = HOLES.replace(b"\n", b"\n# two internal events happened\n", 1)
    _, events, defects = read(source(tmp_path, data))
    assert messages(events) == BOTH_WAYS
    assert {(item.code, item.line) for item in defects} >= {("skipped-text", 2)}


def test_a_list_may_begin_with_process_1_and_processes_may_have_a_name(tmp_path):
    data = spelt("process", "vc", as_list=True, base=1, prefix="P")
    _, events, _ = read(source(tmp_path, data))
    assert messages(events) == {("P1->P2", "1"), ("P2->P1", "1")}


MAPPED = {
    "an object": ({"a": 1, "b": 2}, "stand.clock"),
    "text": ('{"a": 1, "b": 2}', "stand.clock"),
    "escaped text": (r"{\"a\": 1, \"b\": 2}", "stand.clock"),
}


@pytest.mark.parametrize(("clock", "path"), MAPPED.values(), ids=MAPPED)
def test_a_mapping_names_the_clock(tmp_path, clock, path):
    lines = text(
        {"who": "a", "ms": 5, "stand": {"clock": {"a": 1}}},
        {"who": "b", "ms": 3, "stand": {"clock": {"b": 1}}},
        {"who": "b", "ms": 9, "stand": {"clock": clock}},
        {"who": "b", "ms": 9, "stand": {"clock": [1]}},
    )
    mapping = {"process": "who", "clock": path, "at": {"path": "ms", "unit": "ms"}}
    header, events, defects = read(
        source(tmp_path, lines), Limits(), format_of(parse(mapping | {"label": "x"}))
    )
    assert messages(events) == {("a->b", "1")}
    assert [event.at for event in events] == [2000, 0, 6000]
    assert header.time_unit == "us"
    assert [(item.code, item.line) for item in defects] == [("skipped-text", 4)]
    assert "does not count its own process" in defects[0].sentence


def recording_lines(*records):
    return text(*({"process": p, "kind": k, "vc": c, **more} for p, k, c, more in records))


def test_what_was_recorded_is_judged_by_the_clocks(tmp_path):
    snap = {"snapshot": "s1", "state": {"x": 1}}
    consistent = recording_lines(
        ("a", "record_state", {"a": 1}, snap),
        ("b", "record_state", {"b": 1}, snap),
        ("a", "go", {"a": 2}, {}),
        ("b", "go", {"b": 2, "a": 2}, {}),
    )
    orphan = recording_lines(
        ("a", "record_state", {"a": 1}, snap),
        ("a", "go", {"a": 2}, {}),
        ("b", "go", {"b": 1, "a": 2}, {}),
        ("b", "record_state", {"b": 2, "a": 2}, snap),
    )
    verdicts = []
    for data in (consistent, orphan):
        header, events, _ = read(source(tmp_path, data))
        (report,) = judge(assemble(header, events).recording)
        verdicts.append(report.verdict)
        answers = {item.question: item.answer for item in report.answers}
        assert [answers[name] for name in ("channels", "states", "rule")] == ["not-known"] * 3
    assert verdicts == ["consistent", "orphan"]


def test_a_file_alone_names_the_processes_of_the_other_files(tmp_path):
    lines = text({"host": "a", "vc": {"a": 1}}, {"host": "a", "vc": {"a": 2, "b": 1, "c": 1}})
    with pytest.raises(InputRefused) as caught:
        read(source(tmp_path, lines))
    assert 'names "b" and "c", whose events are in other files' in str(caught.value)


@pytest.mark.parametrize(
    ("clock", "field"),
    [(7, "clock"), ({"path": "vc", "first": 2}, "clock.first"), ({"first": 1}, "clock.path")],
)
def test_a_mapping_with_a_wrong_clock_is_refused_by_its_field(clock, field):
    with pytest.raises(MappingRefused) as caught:
        parse({"process": "p", "clock": clock})
    assert caught.value.field == field


def test_mutated_copies_are_read_or_refused(tmp_path: Path):
    for number, data in enumerate(mutated([HOLES, *SPELLINGS.values()], 300)):
        try:
            header, events, _ = read(source(tmp_path, data, f"{number}.jsonl"), Limits())
            assemble(header, events)
        except InputRefused:
            continue
