"""Logs with vector clocks: ShiViz's examples, and logs made here."""

import gzip
import json
import random
import time

import pytest

from snapshots.domain.model.defects import InputRefused
from snapshots.readers import recognition
from snapshots.readers.formats.limits import Limits
from snapshots.readers.logs.shiviz.known import BY_NAME, FORMS
from tests.readers.inputs import checked, read, source
from tests.readers.logs.shiviz.cases import (
    PLAIN,
    agreement,
    cases,
    counted,
    executions,
    recorded,
    refusal,
    whole_file,
    with_expressions,
)
from tests.readers.mutated import MANY, mutated

FILES = [
    "chord.log", "facebook-multiple.log", "simple-reliable-broadcast.log", "simpledb.log",
    "slack-execution1.log",
]  # fmt: skip
COMPARED = dict(zip(FILES, (12, 16, 7, 9, 6), strict=True))
DEFAULT = BY_NAME["default"].parser


def case(shared_data, name):
    [found] = [entry for entry in cases(shared_data) if entry["file"] == name]
    return found


def simulated(events, hosts, chance):
    """Return a log in GoVector's form, and the number of messages that follow from its clocks.

    Each message brings its receiver something new, and nothing that another one brings as well.
    """
    clocks = [{} for _ in range(hosts)]
    pending, lines, messages = [], [], 0
    for _ in range(events):
        host = chance.randrange(hosts)
        clock = clocks[host]
        news = None
        if pending and chance.random() < 0.5:
            sender, known = pending.pop(chance.randrange(len(pending)))
            if sender != host and known[sender] > clock.get(sender, 0):
                news = known
        if news:
            messages += 1
            for other, count in news.items():
                clock[other] = max(count, clock.get(other, 0))
        clock[host] = clock.get(host, 0) + 1
        if chance.random() < 0.5:
            pending = [*pending[-50:], (host, dict(clock))]
        shown = ", ".join(f'"h{name}":{count}' for name, count in clock.items())
        lines.append(f"h{host} {{{shown}}}\nevent {len(lines)}")
    return "\n".join(lines).encode(), messages


def log(*events, parser=PLAIN, delimiter=""):
    """Write a whole file from events (host, clock, text) and lines, which stay as they are."""
    lines = [
        event if isinstance(event, str) else f"{event[0]} {json.dumps(event[1])} {event[2]}"
        for event in events
    ]
    return whole_file(parser, delimiter, "\n".join(lines).encode())


@pytest.mark.parametrize("name", FILES)
def test_a_log_is_recognised_and_counted_as_shiviz_does(shared_data, name):
    entry = case(shared_data, name)
    assert counted(entry["path"]) == entry["executions"]
    assert agreement(entry) == {"compared": COMPARED[name], "agreed": COMPARED[name]}


@pytest.mark.parametrize("name", FILES)
def test_a_log_with_its_expressions_in_front_is_counted_the_same(shared_data, tmp_path, name):
    entry = case(shared_data, name)
    path = with_expressions(entry, tmp_path / "whole.log")
    assert counted(path) == entry["executions"]
    assert [found.skipped_lines for found in executions(path, Limits())] == [0] * len(
        entry["executions"]
    )


def test_a_header_says_which_form_the_log_has_and_what_clocks_do_not_show(shared_data):
    entry = case(shared_data, "chord.log")
    head = checked(entry["path"], Limits())
    assert (head.format, head.complete) == ("shiviz", True)
    assert "GoVector" in head.reason
    assert any("never received" in note for note in head.header.extra["notes"])
    assert head.header.extra["shiviz"]["form"] == "govector"


def test_compressed_logs_and_windows_ends_of_lines(shared_data, tmp_path):
    entry = case(shared_data, "slack-execution1.log")
    data = entry["path"].read_bytes()
    assert counted(source(tmp_path, gzip.compress(data), "a.gz")) == entry["executions"]
    path = source(tmp_path, b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n"))
    assert counted(path) == entry["executions"]
    assert recognition.sniff(path, Limits()).reader.name == "shiviz"


def test_one_of_several_executions_by_name_or_number(shared_data):
    path = case(shared_data, "facebook-multiple.log")["path"]
    for execution in ("Execution #2", "2"):
        recording = recorded(path, execution)[0].recording
        assert sum(map(len, recording.events.values())) >= 41
    with pytest.raises(InputRefused, match="2 executions.*Execution #1"):
        recorded(path)
    with pytest.raises(InputRefused, match='named "3"'):
        recorded(path, "3")


def test_the_file_read_in_another_order_gives_the_same_messages(shared_data, tmp_path):
    path = case(shared_data, "chord.log")["path"]
    lines = path.read_bytes().rstrip(b"\n").split(b"\n")
    pairs = [b"\n".join(lines[at : at + 2]) for at in range(0, len(lines), 2)]
    random.Random(1).shuffle(pairs)
    shuffled = source(tmp_path, b"\n".join(pairs))
    before, after = recorded(path)[0].recording, recorded(shuffled)[0].recording
    ids = [
        {channel: [(m.id, m.sent_index, m.received_index) for m in messages]
         for channel, messages in recording.messages.items()}
        for recording in (before, after)
    ]  # fmt: skip
    assert ids[0] == ids[1]


def test_events_messages_and_fields_of_a_recording(tmp_path):
    parser = r"(?<date>\S+) (?<host>\S*) (?<clock>{.*}) (?<event>.*)"
    lines = [
        'd1 a {"a":1} start', 'd2 a {"a":2} ask both', 'd3 b {"a":2,"b":1} asked',
        'd4 c {"a":2,"c":1} asked, and answers', 'd5 b {"a":2,"b":2,"c":1} joins',
    ]  # fmt: skip
    path = source(tmp_path, whole_file(parser, "", "\n".join(lines).encode()))
    assembly, defects = recorded(path)
    recording = assembly.recording
    kinds = {name: [e.kind for e in events] for name, events in recording.events.items()}
    assert kinds == {
        "a": ["internal", "send", "send"], "b": ["receive", "receive"], "c": ["receive", "send"],
    }  # fmt: skip
    sent = {channel: [m.id for m in found] for channel, found in recording.messages.items()}
    assert sent == {"a->b": ["2"], "a->c": ["2"], "c->b": ["1"]}
    first, second = recording.events["a"][1:]
    assert json.loads(first.extra) == {"clock": {"a": 2}, "date": "d2", "derived": True}
    assert (first.label, second.label) == ("ask both", None)
    assert json.loads(second.extra) == {"derived": True, "event": 2}
    assert json.loads(recording.events["a"][0].extra) == {"clock": {"a": 1}, "date": "d1"}
    assert [event.line for event in recording.events["b"]] == [5, 7]
    assert all(event.state is None for events in recording.events.values() for event in events)
    assert (assembly.defects, defects.total) == ((), 0)


def test_an_edge_that_another_implies_is_left_out(tmp_path):
    """Host c learns of a's event only through b."""
    path = source(tmp_path, log(
        ("a", {"a": 1}, "x"), ("b", {"a": 1, "b": 1}, "y"), ("c", {"a": 1, "b": 1, "c": 1}, "z")
    ))  # fmt: skip
    [found] = executions(path, Limits())
    assert (found.edges, found.receives) == (2, 2)


def test_an_event_that_joins_two_has_two_edges(tmp_path):
    path = source(tmp_path, log(
        ("a", {"a": 1}, "x"), ("b", {"b": 1}, "y"), ("c", {"a": 1, "b": 1, "c": 1}, "z")
    ))  # fmt: skip
    [found] = executions(path, Limits())
    assert (found.edges, found.receives) == (2, 1)


def test_skipped_text_is_named_with_its_line(tmp_path):
    data = log(("a", {"a": 1}, "x"), "what is this", "", ("a", {"a": 2}, "y"), "and this?")
    assembly, defects = recorded(source(tmp_path, data))
    [found] = defects.listed
    assert (found.code, found.severity, found.line, found.count) == ("skipped-text", "kept", 4, 2)
    assert "what is this" in found.sentence
    about = assembly.recording.header_extra["shiviz"]
    assert about["skipped"] == [[4, "what is this"], [7, "and this?"]]


def test_the_refusal_offers_each_execution_with_its_events(shared_data):
    path = shared_data / "shiviz" / "facebook-multiple.log"
    with pytest.raises(InputRefused) as caught:
        checked(path, Limits())
    choices = caught.value.members["choices"]
    assert [(item["name"], item["events"]) for item in choices] == [
        (found.name, sum(found.events.values())) for found in executions(path, Limits())
    ]
    for item in choices:
        head = checked(path, Limits(), format=item["format"])
        assert (head.format, head.header.name) == (item["format"], item["name"])


def test_an_execution_whose_name_is_anothers_number_is_offered_by_its_name(tmp_path):
    runs = "".join(f'=== {name} ===\n{{"a":1}} a\nbegins\n' for name in ("2", "1"))
    path = source(
        tmp_path,
        f"(?<clock>{{.*}}) (?<host>.*)\\n(?<event>.*)\n^=== (?<trace>.*) ===$\n{runs}".encode(),
    )
    with pytest.raises(InputRefused) as caught:
        checked(path, Limits())
    choices = caught.value.members["choices"]
    assert [item["name"] for item in choices] == ["2", "1"]
    for item in choices:
        head = checked(path, Limits(), format=item["format"])
        assert head.header.name == item["name"]


def test_executions_are_independent_and_blank_ones_dropped(tmp_path):
    one = [("a", {"a": 1}, "x"), ("a", {"a": 2}, "y")]
    data = log("=== 1 ===", *one, "=== 2 ===", "", "=== 3 ===", *one[:1],
               delimiter=r"^=== (?<trace>.*) ===$")  # fmt: skip
    found = executions(source(tmp_path, data), Limits())
    assert [(part.name, part.events) for part in found] == [("1", {"a": 2}), ("3", {"a": 1})]


def test_executions_must_differ_in_name(tmp_path):
    events = [("a", {"a": 1}, "x"), "---", ("a", {"a": 1}, "x"), "---", ("a", {"a": 1}, "x")]
    found = refusal(tmp_path, log(*events, delimiter="^---$"))
    assert (found.code, found.line) == ("bad-expression", 4)


def test_a_clock_with_escaped_quotes_and_a_zero_entry(tmp_path):
    data = log(r"a {\"a\":1,\"b\":0} x", ("b", {"b": 1, "a": 0, "c": 0}, "y"))
    [found] = executions(source(tmp_path, data), Limits())
    assert (found.events, found.edges) == ({"a": 1, "b": 1}, 0)


BAD_CLOCKS = {
    "twice": ([("a", {"a": 1}, "x"), ("a", {"a": 1}, "y")], 4, "stands at 1, as on line 3"),
    "no JSON": (["a {1} x"], 3, "not a JSON"),
    "a list": (["a {} x"], 3, "does not count"),
    "without itself": ([("a", {"b": 1}, "x"), ("b", {"b": 1}, "")], 3, 'host "a" itself'),
    "an empty host": ([("a", {"a": 1}, "x"), ("", {"a": 1}, "y")], 4, "not an event"),
    "a fraction": ([("a", {"a": 1.5}, "x")], 3, "not a count"),
    "negative": ([("a", {"a": 1, "b": -1}, "x")], 3, "not a count"),
    "huge": ([("a", {"a": 2**31}, "x")], 3, "not a count"),
    "true": ([("a", {"a": True}, "x")], 3, "not a count"),
    "forgets": (
        [("b", {"b": 1}, ""), ("a", {"a": 1, "b": 1}, "x"), ("a", {"a": 2}, "y")], 5, "not all",
    ),
    "not passed on": (
        [("b", {"b": 1}, ""), ("a", {"a": 1, "b": 1}, "x"), ("c", {"a": 1, "c": 1}, "y")],
        5, "not all that",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("events", "line", "words"), BAD_CLOCKS.values(), ids=BAD_CLOCKS)
def test_an_impossible_clock_is_refused_with_its_line(tmp_path, events, line, words):
    found = refusal(tmp_path, log(*events))
    assert (found.code, found.line) == ("bad-clock", line)
    assert words in found.sentence


OF_OTHER_FILES = {
    "one host": (
        [("a", {"a": 1, "b": 1}, "x")],
        3,
        'The clock names "b", whose events are in another file: each process writes its own. '
        "Upload both together, as one folder or package.",
    ),
    "two hosts": (
        [("a", {"a": 1}, "x"), ("a", {"a": 2, "b": 1, "c": 4}, "x")],
        4,
        'The clock names "b" and "c", whose events are in other files: each process writes its '
        "own. Upload all files together, as one folder or package.",
    ),
    "many hosts": ([("a", {"a": 1} | {f"h{n}": 1 for n in range(9)}, "x")], 3, "and 4 more, whose"),
}


@pytest.mark.parametrize(("events", "line", "words"), OF_OTHER_FILES.values(), ids=OF_OTHER_FILES)
def test_a_clock_that_counts_events_of_another_file_names_its_process(
    tmp_path, events, line, words
):
    found = refusal(tmp_path, log(*events))
    assert (found.code, found.line) == ("other-files", line)
    assert words in found.sentence


HOLES = {
    "in the middle": ([("a", {"a": 1}, "x"), ("a", {"a": 3}, "y")], 4, 'Event 2 of "a" is not in'),
    "at the beginning": ([("a", {"a": 4}, "x")], 3, '3 events of "a" (1 to 3) are not in the log.'),
    "at the end": (
        [("a", {"a": 1}, "x"), ("b", {"a": 3, "b": 1}, "y")], 4, '2 events of "a" (2 to 3) are',
    ),
}  # fmt: skip


@pytest.mark.parametrize(("events", "line", "words"), HOLES.values(), ids=HOLES)
def test_a_hole_is_named_and_the_other_events_are_read(tmp_path, events, line, words):
    header, found, defects = read(source(tmp_path, log(*events), "run.log"))
    assert len(found) == len(events)
    assert header.extra["shiviz"]["missing_events"] == sum(item.count for item in defects)
    ((code, at, sentence),) = [(item.code, item.line, item.sentence) for item in defects]
    assert (code, at) == ("clock-hole", line)
    assert sentence.startswith(words)


def test_what_was_sent_in_a_hole_is_drawn_from_the_event_before_it(tmp_path):
    lines = log(("a", {"a": 1}, "x"), ("a", {"a": 5}, "z"), ("b", {"a": 3, "b": 1}, "y"))
    _, found, _ = read(source(tmp_path, lines, "run.log"))
    by_kind = {event.kind: (event.process, event.message) for event in found if event.message}
    assert by_kind == {"send": ("a", "1"), "receive": ("b", "1")}
    assert [event.kind for event in found if event.process == "a"] == ["send", "internal"]


def test_every_known_form_reads_its_own_kind(tmp_path):
    clock = '{"a":1}'
    texts = {
        "requests": f"1.2.3.4 5/27/2013 10:53:39 AM GET text\na {clock}",
        "voldemort": f"[2012-01-01 10:00:00,1 voldemort.x] INFO text\na {clock}",
        "akka": f"[INFO] [10/13/2014 14:37:20] [x] [akka://Broadcast/user/a] {clock} text",
        "tlc": 'State 1: <text line 1>\n/\\ Host = a\n/\\ Clock = "{\\"a\\":1}"\n/\\ x = 1',
        "govector-times": f"1500000000000000000 a {clock}\ntext",
        "tsviz": f"1500000000000000000 text\na {clock}",
        "default": f"text\na {clock}",
        "govector": f"a {clock}\ntext",
    }
    assert list(texts) == [form.name for form in FORMS]
    for name, text in texts.items():
        path = source(tmp_path, text.encode() + b"\n")
        recording = recorded(path)[0].recording
        assert recording.header_extra["shiviz"]["form"] == name
        assert [event.label for event in recording.events["a"]] == ["text"], name


def test_other_text_is_not_a_log(tmp_path):
    for data in (b"hello\nworld {1}\n", b"a,b\n1,2\n", b"x {} \ny {}\n"):
        assert refusal(tmp_path, data).code == "unknown-format"


def test_limits(tmp_path):
    path = source(tmp_path, log(*[(f"h{n}", {f"h{n}": 1}, "x") for n in range(20)]))
    for limits in (Limits(processes=19), Limits(total_bytes=100)):
        with pytest.raises(InputRefused) as caught:
            executions(path, limits)
        assert caught.value.defects[0].code in ("too-many-processes", "too-large")


@pytest.mark.parametrize("seed", range(5))
def test_every_message_of_a_simulated_run_is_found(tmp_path, seed):
    """The few messages that others imply are found by a plain count here."""
    data, messages = simulated(300, 4, random.Random(seed))
    [found] = executions(source(tmp_path, data), Limits())
    assert (found.receives, sum(found.events.values())) == (messages, 300)
    assert found.edges == by_hand(data)


def by_hand(data):
    """Return the edges by the rule of the format's page, event by event."""
    lines = data.decode().split("\n")[::2]
    events = [(line.split()[0], json.loads(line.split(" ", 1)[1])) for line in lines]
    clock_of = {(host, clock[host]): clock for host, clock in events}
    total = 0
    for host, clock in events:
        before = clock_of.get((host, clock[host] - 1), {})
        news = {q: t for q, t in clock.items() if q != host and t > before.get(q, 0)}
        total += sum(
            not any(clock_of[r, news[r]].get(q, 0) == t for r in news if r != q)
            for q, t in news.items()
        )
    return total


@pytest.mark.parametrize("events", [10_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_a_large_log_takes_seconds(tmp_path, events):
    data, messages = simulated(events, 10, random.Random(0))
    path = source(tmp_path, data)
    started = time.process_time()
    [found] = executions(path, Limits())
    assert time.process_time() - started < 1 + events / 10_000
    assert (found.receives, sum(found.events.values())) == (messages, events)


def test_damaged_logs_are_read_or_refused(shared_data, tmp_path):
    seeds = [with_expressions(entry, tmp_path / "whole.log").read_bytes()[:4000]
             for entry in cases(shared_data)]  # fmt: skip
    seeds += [whole_file("", "", b'x\na {"a":1}\ny\nb {"a":1, "b":1}\n')]
    good, refusals = 0, []
    for data in mutated(seeds):
        path = source(tmp_path, data, "damaged.log")
        try:
            recorded(path, "1")
            good += 1
        except InputRefused as refused:
            refusals.append(refused.defects[0].sentence)
    assert all(sentence.endswith((".", "?")) for sentence in refusals)
    assert good > MANY // 20


def test_a_clock_without_its_host_is_named_where_others_lack(tmp_path):
    log = 'a\n{"alice":1}\nb\nalice {"alice":2, "bob": 1}\n'
    with pytest.raises(InputRefused, match="without the name of its host before it") as caught:
        read(source(tmp_path, log.encode()), Limits())
    assert caught.value.defects[0].line == 2
