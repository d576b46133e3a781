"""Logs that are one JSON document: traces of Jaeger and of P's checker."""

import json

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.model.defects import InputRefused
from snapshots.readers.formats.limits import Limits
from tests.readers.inputs import read, source
from tests.readers.mutated import mutated

AT = 1_760_000_000_000_000


def a_span(
    span, at, kind, parent=None, *, lasted=3_000, reference="CHILD_OF", process="p1", **tags
):
    listed = [{"key": "span.kind", "value": kind}]
    listed += [{"key": key.replace("__", "."), "value": value} for key, value in tags.items()]
    references = (
        []
        if parent is None
        else [{"refType": reference, "traceID": parent[0], "spanID": parent[1]}]
    )
    return {
        "traceID": "t", "spanID": span, "operationName": f"{span} {kind}", "references": references,
        "startTime": AT + at, "duration": lasted, "tags": listed, "processID": process,
    }  # fmt: skip


def a_trace(trace, service, *spans):
    own = [item | {"traceID": trace} for item in spans]
    processes = {f"p{n}": {"serviceName": name} for n, name in enumerate(service.split(), 1)}
    return {"traceID": trace, "spans": own, "processes": processes}


KAFKA = {
    "messaging__destination__name": "orders", "messaging__kafka__message__offset": 17,
    "messaging__kafka__destination__partition": 0,
}  # fmt: skip
PRODUCED = a_span("02", 2_000, "producer", **KAFKA)


def consumed(reference="FOLLOWS_FROM", parent=("a", "02"), **more):
    return a_span("03", 50_000, "consumer", parent, reference=reference, **(KAFKA | more))


def two(consumer, **more):
    traces = [a_trace("a", "shop", PRODUCED), a_trace("b", "billing", consumer)]
    return {"data": traces, "total": 0, **more}


def read_document(tmp_path, document, indent=None):
    data = json.dumps(document, indent=indent).encode()
    header, events, _ = read(source(tmp_path, data, "traces.json"), Limits())
    assemble(header, events)
    messages = {}
    for event in events:
        if event.message is not None:
            messages.setdefault((event.message, event.channel), {})[event.kind] = event.at
    return header, events, messages


@pytest.mark.parametrize("reference", ["FOLLOWS_FROM", "CHILD_OF"])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_producer_and_its_consumer_are_one_message(tmp_path, reference, indent):
    header, events, messages = read_document(tmp_path, two(consumed(reference)), indent)
    assert {item.id for item in header.topology.processes} == {"shop", "billing"}
    assert messages == {("orders-0@17", "shop->billing"): {"send": 0, "receive": 48_000}}
    assert (events[-1].line > 1) == (indent is not None)


OTHER_IDS = {
    "its own id": ({"messaging__message__id": "m-9"}, "m-9"),
    "the span's id": ({}, "03"),
    "a topic without a partition": (
        {"messaging__destination": "x", "messaging__kafka__offset": 3}, "x@3",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("tags", "expected"), OTHER_IDS.values(), ids=OTHER_IDS)
def test_the_id_of_a_message_is_the_best_that_the_spans_have(tmp_path, tags, expected):
    consumer = a_span("03", 50_000, "consumer", ("a", "02"), **tags)
    traces = [a_trace("a", "shop", a_span("02", 0, "producer")), a_trace("b", "billing", consumer)]
    _, _, messages = read_document(tmp_path, {"data": traces})
    assert [message for message, _ in messages] == [expected]


@pytest.mark.parametrize("wrapped", [False, True])
def test_spans_of_elasticsearch_one_a_line_are_read(tmp_path, wrapped):
    sent = PRODUCED | {"traceID": "a", "process": {"serviceName": "shop"}, "parentSpanID": "0"}
    taken = consumed() | {"traceID": "b", "process": {"serviceName": "billing"}}
    lines = [{"_source": span} if wrapped else span for span in (sent, taken)]
    data = b"\n".join(json.dumps(line).encode() for line in lines)
    _, events, _ = read(source(tmp_path, data, "spans.log"), Limits())
    assert [(event.kind, event.line) for event in events] == [("send", 1), ("receive", 2)]


def test_a_parent_outside_of_the_file_is_not_known_and_nothing_is_lost(tmp_path):
    header, events, messages = read_document(tmp_path, two(consumed(parent=("z", "99"))))
    assert messages == {}
    assert [event.kind for event in events] == ["internal", "internal"]
    assert header.extra["jaeger"]["without_parent"] == 1
    assert any("sender is not known" in note for note in header.extra["notes"])


def test_one_message_that_two_groups_read_is_received_by_both(tmp_path):
    traces = two(consumed())["data"]
    again = a_span("04", 60_000, "consumer", ("a", "02"), **KAFKA)
    traces += [a_trace("c", "mail", again), a_trace("d", "mail", again | {"spanID": "05"})]
    _, _, messages = read_document(tmp_path, {"data": traces})
    assert {name for name, _ in messages} == {"orders-0@17", "orders-0@17 (05)"}
    assert all(set(ends) == {"send", "receive"} for ends in messages.values())


def test_a_request_and_its_answer_are_two_messages(tmp_path):
    client = a_span("1", 0, "client", lasted=9_000)
    server = a_span("2", 3_000, "server", ("t", "1"), lasted=4_000, process="p2")
    _, _, messages = read_document(tmp_path, [a_trace("t", "shop stock", client, server)])
    assert messages == {
        ("2", "shop->stock"): {"send": 0, "receive": 3_000},
        ("answer to 2", "stock->shop"): {"send": 7_000, "receive": 9_000},
    }


@pytest.mark.parametrize(
    "broken",
    [{"processID": "p9"}, {"spanID": 4}, {"startTime": "now"}, {"duration": "long"}],
)
def test_a_span_that_cannot_be_read_is_named_and_the_others_are_read(tmp_path, broken):
    header, events, _ = read_document(tmp_path, two(consumed() | broken))
    assert len(events) == 1
    assert header.extra["jaeger"]["misfits"] == 1


# --- P --------------------------------------------------------------------------------------------


def step(type, log, **details):
    return {"type": type, "details": {"log": log, **details}}


def a_send(event, sender="Client(2)", target="Server(3)", **more):
    return step("SendEvent", f"{sender} sent", sender=sender, target=target, event=event, **more)


def a_take(event, machine="Server(3)", type="DequeueEvent"):
    return step(type, f"{machine} took {event}", id=machine, event=event, state="Wait")


FAILS = step("AssertionFailure", "Server(3): balance is negative")
TRACE = [
    step("CreateStateMachine", "Client(2) was created by Test(1).", id="Client(2)"),
    a_send("eReq", clock={"Client(2)": 2}), a_take("eReq"), FAILS,
]  # fmt: skip


def test_an_event_that_was_sent_and_dequeued_is_a_message_and_the_failure_is_told(tmp_path):
    header, events, messages = read_document(tmp_path, TRACE, 2)
    assert set(messages) == {("eReq#1", "Client(2)->Server(3)")}
    assert header.extra["told"][0] == {
        "level": "wrong",
        "text": "The assertion fails: Server(3): balance is negative.",
    }
    assert events[-1].process == "Server(3)"


def test_the_earliest_event_of_a_name_is_dequeued_first_whoever_sent_it(tmp_path):
    trace = [
        a_send("e"), a_send("e", "B(4)"), a_send("f"), a_take("f"), a_take("e"),
        a_take("e", type="ReceiveEvent"),
    ]  # fmt: skip
    _, events, _ = read_document(tmp_path, trace)
    taken = [(event.message, event.channel) for event in events if event.kind == "receive"]
    assert taken == [
        ("f#1", "Client(2)->Server(3)"),
        ("e#1", "Client(2)->Server(3)"),
        ("e#2", "B(4)->Server(3)"),
    ]


def test_a_payload_tells_which_of_two_events_was_dequeued(tmp_path):
    trace = [
        a_send("e", payload={"x": 1}), a_send("e", "B(4)", payload={"x": 2}),
        a_take("e") | {"type": "DequeueEvent"},
    ]  # fmt: skip
    trace[2]["details"]["payload"] = {"x": 2}
    _, events, _ = read_document(tmp_path, trace)
    assert [event.channel for event in events if event.kind == "receive"] == ["B(4)->Server(3)"]


def test_a_monitor_has_its_own_events_and_a_halted_machine_gets_none(tmp_path):
    watched = step("MonitorProcessEvent", "M", monitor="Safe", sender="Client(2)", event="e")
    trace = [a_send("e"), watched, a_send("f", isTargetHalted=True), step("PrintLog", "hello")]
    header, events, _ = read_document(tmp_path, trace)
    assert [(event.process, event.kind) for event in events] == [
        ("Client(2)", "send"),
        ("Safe", "internal"),
        ("Client(2)", "internal"),
    ]
    assert (header.extra["p_trace"]["left_out"], header.extra["p_trace"]["misfits"]) == (1, 0)


def test_what_was_never_sent_or_never_taken_invents_no_message(tmp_path):
    _, events, _ = read_document(tmp_path, [a_take("eTimeout"), a_send("e")])
    assert [event.kind for event in events] == ["internal", "send"]


def test_an_exception_is_told_and_a_step_without_a_machine_is_named(tmp_path):
    trace = [*TRACE[:2], step("Unheard", "x"), step("ExceptionThrown", "no state", id="B(4)")]
    header, _, _ = read_document(tmp_path, trace)
    assert header.extra["told"][0]["text"] == "An exception was thrown: no state."
    assert header.extra["p_trace"]["misfits"] == 1


@pytest.mark.parametrize("document", [two(consumed()), TRACE], ids=["jaeger", "p"])
def test_mutated_copies_are_read_or_refused(tmp_path, document):
    whole = json.dumps(document, indent=1).encode()
    for data in mutated([whole], 200):
        try:
            header, events, _ = read(source(tmp_path, data), Limits())
            assemble(header, events)
        except InputRefused:
            continue


def test_a_trace_without_its_envelope_is_read(tmp_path):
    trace = a_trace("a", "shop", PRODUCED)
    header, events, _ = read_document(tmp_path, trace)
    assert [process.id for process in header.topology.processes] == ["shop"]
    assert len(events) == 1


def test_references_that_lead_out_of_the_file_are_counted(tmp_path):
    consumer = consumed()
    consumer["references"] += [{"refType": "FOLLOWS_FROM", "traceID": "f", "spanID": "99"}]
    header, _, messages = read_document(tmp_path, two(consumer))
    assert len(messages) == 1
    assert header.extra["told"][1] == {
        "level": "not-known",
        "text": "1 reference of spans leads to spans that are not in the file: what was sent from "
        "there is not known.",
    }
