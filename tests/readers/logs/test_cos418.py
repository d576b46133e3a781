"""The logs of the COS 418 simulator, against the snapshots that its authors expect of them."""

import gzip
import json
import re

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.defects import InputRefused
from tests.readers.inputs import read, source, text

CASES = {
    "original/2nodes-simple.log.jsonl": ["original/2nodes-simple.snap"],
    "original/2nodes-message.log.jsonl": ["original/2nodes-message.snap"],
    "original/3nodes-bidirectional-messages.log.jsonl": [
        "original/3nodes-bidirectional-messages.snap"
    ],
    "original/8nodes-sequential-snapshots.log.jsonl": [
        "original/8nodes-sequential-snapshots0.snap",
        "original/8nodes-sequential-snapshots1.snap",
    ],
    "random/r50-random-s1/log.jsonl.gz": [
        f"random/r50-random-s1/snapshots/{number}.snap" for number in range(10)
    ],
}
LOGS = [
    pytest.param(case, marks=pytest.mark.slow if case.startswith("random") else ())
    for case in CASES
]
HEADER = {
    "kind": "header",
    "format": "cos418-event-log",
    "version": 1,
    "seed": "8053172852482175524",
    "processes": [{"id": "N1", "tokens": 3}, {"id": "N2", "tokens": 0}],
    "channels": [["N1", "N2"], ["N2", "N1"]],
}
ON = {"src": "N1", "dst": "N2"}
SEND = {"tick": 0, "process": "N1", "seq": 0, "kind": "send", "msg": 1, "amount": 2, "tokens": 1}
RECEIVE = SEND | {"tick": 4, "process": "N2", "kind": "receive", "tokens": 2}
START = {"tick": 1, "process": "N2", "kind": "channel_record_start", "snapshot": 0, "tokens": 0}
STOP = {"tick": 5, "process": "N2", "kind": "channel_record_stop", "snapshot": 0, "tokens": 2}
UNLIMITED = type(read.__defaults__[0])()


def log(*events):
    """Write events as a log, with ``n`` and ``seq`` counted."""
    counted = {"N1": 0, "N2": 0}
    lines = []
    for n, event in enumerate(events):
        lines.append({"n": n} | event | ON | {"seq": counted[event["process"]]})
        counted[event["process"]] += 1
    return text(HEADER, *lines)


def expected(path):
    """Read a .snap file as (states, channel contents)."""
    _, *lines = path.read_text().splitlines()
    states, channels = {}, {}
    for line in lines:
        if message := re.fullmatch(r"(\S+) (\S+) token\((\d+)\)", line):
            source_, target, amount = message.groups()
            channels.setdefault(f"{source_}->{target}", []).append(int(amount))
        else:
            process, tokens = line.split()
            states[process] = int(tokens)
    return states, channels


def found(recording, report):
    """Return a report's (states, contents of the channels that hold something)."""
    states = {name: json.loads(state) for name, state in report.recomputed_states.items()}
    channels = {
        channel: [json.loads(recording.messages[channel][ordinal].value) for ordinal in ordinals]
        for channel, ordinals in report.in_flight.items()
        if ordinals
    }
    return states, channels


@pytest.mark.parametrize("case", LOGS)
def test_a_log_gives_exactly_the_expected_snapshots(shared_data, case):
    folder = shared_data / "cos418"
    header, events, defects = read(folder / case, UNLIMITED)
    recording, later_defects = (assembly := assemble(header, events)).recording, assembly.defects
    assert (defects, later_defects) == ((), ())
    reports = judge(recording)
    assert [report.verdict for report in reports] == ["consistent"] * len(CASES[case])
    assert all(report.recorded_channels for report in reports)
    by_id = {report.snapshot: report for report in reports}
    for number, name in enumerate(CASES[case]):
        assert found(recording, by_id[str(number)]) == expected(folder / name)


@pytest.mark.parametrize("case", LOGS)
def test_the_snapshots_follow_without_the_recorded_channels(shared_data, tmp_path, case):
    folder = shared_data / "cos418"
    data = (folder / case).read_bytes()
    data = gzip.decompress(data) if case.endswith(".gz") else data
    kept = [line for line in data.splitlines() if b"channel_record_" not in line]
    header, events, _ = read(source(tmp_path, text(*kept)), UNLIMITED)
    recording = assemble(header, events).recording
    reports = judge(recording)
    assert {report.verdict for report in reports} == {"consistent"}
    assert not any(report.recorded_channels for report in reports)
    by_id = {report.snapshot: report for report in reports}
    for number, name in enumerate(CASES[case]):
        assert found(recording, by_id[str(number)]) == expected(folder / name)


def test_a_token_event_has_its_amount_as_value_and_its_tokens_as_state(tmp_path):
    header, [send], _ = read(source(tmp_path, log(SEND)))
    assert (send.channel, send.message, send.value, send.state) == ("N1->N2", "1", "2", "1")
    assert (send.index, send.at, send.line, send.extra) == (0, 0, 2, None)
    assert (header.time_unit, header.topology.processes[0].state) == ("tick", "3")
    assert header.extra == {"seed": "8053172852482175524"}


def test_messages_between_start_and_stop_are_the_recorded_channel(tmp_path):
    first, second, third = ({"msg": number} for number in (1, 2, 3))
    events = [
        *(SEND | number for number in (first, second, third)),
        RECEIVE | first,
        START,
        START | {"snapshot": 7},
        RECEIVE | second,
        STOP,
        RECEIVE | third,
        STOP | {"snapshot": 7},
    ]
    _, read_events, defects = read(source(tmp_path, log(*events)))
    records = {e.snapshot: e.messages for e in read_events if e.kind == "record_channel"}
    assert records == {"0": ("2",), "7": ("2", "3")}
    assert [event.kind for event in read_events].count("channel_record_start") == 2
    assert defects == ()


def test_a_stop_without_its_start_says_nothing_about_the_channel(tmp_path):
    _, [event], [defect] = read(source(tmp_path, log(STOP)))
    assert (event.kind, event.messages) == ("channel_record_stop", None)
    assert (defect.severity, defect.line) == ("kept", 2)


def test_fields_without_a_meaning_are_kept(tmp_path):
    _, [event], _ = read(source(tmp_path, log(SEND | {"host": "h1"})))
    assert json.loads(event.extra) == {"host": "h1"}


def test_a_gap_in_the_count_of_lines_is_reported(tmp_path):
    data = log(*(SEND | {"msg": number} for number in range(5))).splitlines()
    _, events, [defect] = read(source(tmp_path, text(data[0], data[1], *data[3:])))
    assert (defect.code, defect.field, defect.line) == ("index-gap", "n", 3)
    assert len(events) == 4


BROKEN = {
    "no tokens": ({"tokens": None}, "missing-field", "tokens"),
    "no message": ({"msg": None}, "missing-field", "msg"),
    "a tick that is no number": ({"tick": "0"}, "wrong-type", "tick"),
    "a negative tick": ({"tick": -1}, "number-range", "tick"),
    "a seq beyond the range": ({"seq": 2**63}, "number-range", "seq"),
    "an unknown channel": ({"src": "N2", "dst": "N2"}, "unknown-channel", "channel"),
    "an unknown process": ({"process": "N3"}, "unknown-process", "process"),
    "the wrong end": ({"process": "N2"}, "wrong-end", "process"),
    "a kind that is no name": ({"kind": []}, "wrong-type", "kind"),
    "a second header": ({"kind": "header"}, "header-twice", "kind"),
    "a further field of 2^64": ({"big": 2**64}, "number-range", None),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_line_without_meaning_is_refused_with_line_and_field(tmp_path, name):
    change, code, field = BROKEN[name]
    with pytest.raises(InputRefused) as caught:
        read(source(tmp_path, text(HEADER, {"n": 0} | SEND | ON | change)))
    defect = caught.value.defects[0]
    assert (defect.code, defect.line, defect.field) == (code, 2, field)


BROKEN_HEADERS = {
    "another version": ({"version": 3}, "version"),
    "tokens below zero": ({"processes": [{"id": "N1", "tokens": -1}]}, "processes[0].tokens"),
    "a process without an id": ({"processes": [{"tokens": 1}]}, "processes[0].id"),
    "a process twice": ({"processes": HEADER["processes"] * 2}, "processes[2].id"),
    "a channel of three": ({"channels": [["N1", "N2", "N1"]]}, "channels[0]"),
    "a channel to nowhere": ({"channels": [["N1", "N9"]]}, "channels[0]"),
    "a channel twice": ({"channels": [["N1", "N2"], ["N1", "N2"]]}, "channels[1]"),
    "channels that are no list": ({"channels": 5}, "channels"),
}


@pytest.mark.parametrize("name", BROKEN_HEADERS)
def test_a_broken_header_is_refused_with_its_field(tmp_path, name):
    change, field = BROKEN_HEADERS[name]
    with pytest.raises(InputRefused) as caught:
        read(source(tmp_path, text(HEADER | change)))
    defect = caught.value.defects[0]
    assert (defect.code, defect.line, defect.field) == ("header-invalid", 1, field)
