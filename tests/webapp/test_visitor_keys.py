"""Every key of every answer that the visitor of a public link gets is listed here.

A field that is added to an answer fails these tests until somebody has decided that strangers may
read it.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from channels.db import database_sync_to_async

from snapshots.access import visiting
from snapshots.domain.simulators.dataflow_samples import SAMPLES_OF_DATAFLOWS
from snapshots.domain.simulators.samples import SAMPLES
from snapshots.models import Job, Recording
from snapshots.reviews import entries, incidents, timeline
from snapshots.web import consumers
from snapshots.web.json import dumps
from tests.web.api.test_consumers import asked
from tests.web.given import a_ready_recording, text_of
from tests.webapp.test_public_links import (  # noqa: F401, fixtures
    _allowed,
    a_link,
    a_visitor,
    editor,
    team,
)
from tests.webapp.test_sockets_of_visitors import in_database, visiting_socket

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
LOGS = {sample.slug: sample for sample in (*SAMPLES, *SAMPLES_OF_DATAFLOWS)}
SHOWN = ("two-banks", "two-tokens", "no-token", SAMPLES_OF_DATAFLOWS[0].slug)
SECRET = "s3cret-of-the-team"  # in fields that strangers must not read
KEYS = {
    "api/recordings/<int:id>/cones/<text:process>/<int:index>": """
        : after before concurrent future index past process
        future: at positions step
        past: at positions step
    """,
    "api/recordings/<int:id>/cuts": """
        : at channels consistent messages omitted orphans orphans_total positions states strays
        : strays_total total watermarks
        channels: *
        messages: *
        positions: *
        states: *
        states.*: completed offset times users
    """,
    "api/recordings/<int:id>/entries": """
        : items may_write total
        items[]: answers answers_total archived_job at author created_at due_on edited_at html id
        items[]: imported_from kind may mentions number parent place recording
        items[]: resolution_imported_from resolved_at resolved_by sentence text version versions
        items[]: when
        items[].answers[]: author created_at edited_at html id imported_from may mentions text
        items[].answers[]: version versions
        items[].answers[].may: answer delete edit resolve
        items[].may: answer delete edit resolve
        items[].place: address at kind process reason state step text words workbench
    """,
    "api/recordings/<int:id>/events/<text:process>/<int:index>": """
        : at channel extra flight index kind label line logged_at message messages process
        : snapshot state step value
        extra: offset rid split
        flight: channel ordinal received_at received_index sent_at sent_index
        state: offset
        value: key value
    """,
    "api/recordings/<int:id>/frames": """
        : frames
        frames[]: at axis cut ends events events_total exact from kinds markers markers_put
        frames[]: markers_taken put said sentence sentences snapshots spread states strays taken
        frames[]: watermarks
        frames[].cut: at channels consistent messages omitted ordinals orphans orphans_total
        frames[].cut: outline part positions states strays strays_total total watermarks
        frames[].cut.outline: channels depths hidden_channels in_channels in_processes messages
        frames[].cut.outline: nearest positions
        frames[].cut.outline.channels: bdata dtype
        frames[].cut.outline.depths: bdata dtype
        frames[].cut.outline.positions: bdata dtype
        frames[].cut.part: channels empty_channels processes unknown_channels
        frames[].cut.positions: *
        frames[].cut.states: *
        frames[].cut.states.*: completed offset times users
        frames[].events: channel index kind process x
        frames[].events.channel: bdata dtype
        frames[].events.index: bdata dtype
        frames[].events.kind: bdata dtype
        frames[].events.process: bdata dtype
        frames[].events.x: bdata dtype
        frames[].markers: channel ordinal snapshot total
        frames[].markers.channel: bdata dtype
        frames[].markers.ordinal: bdata dtype
        frames[].markers.snapshot: bdata dtype
        frames[].markers_put: channel event ordinal snapshot
        frames[].markers_put.channel: bdata dtype
        frames[].markers_put.event: bdata dtype
        frames[].markers_put.ordinal: bdata dtype
        frames[].markers_put.snapshot: bdata dtype
        frames[].markers_taken: channel event ordinal
        frames[].markers_taken.channel: bdata dtype
        frames[].markers_taken.event: bdata dtype
        frames[].markers_taken.ordinal: bdata dtype
        frames[].put: channel event message ordinal value
        frames[].put.channel: bdata dtype
        frames[].put.event: bdata dtype
        frames[].put.ordinal: bdata dtype
        frames[].put.value[]: key value
        frames[].said: * coordinator event order words
        frames[].said.*: bdata dtype
        frames[].said.coordinator: bdata dtype
        frames[].said.event: bdata dtype
        frames[].said.order: bdata dtype
        frames[].spread: begins channels completes counted counted_event counted_said counts
        frames[].spread: done done_event locked locked_event
        frames[].spread.counted: bdata dtype
        frames[].spread.counted_event: bdata dtype
        frames[].spread: not_told not_told_why noted noted_count noted_event
        frames[].spread: noted_message noted_messages noted_ordinal noted_value noted_values
        frames[].spread: opened opened_event phase phase_event phase_said
        frames[].spread: processes recorded recorded_event said snapshot why
        frames[].spread.done: bdata dtype
        frames[].spread.done_event: bdata dtype
        frames[].spread.locked: bdata dtype
        frames[].spread.locked_event: bdata dtype
        frames[].spread.not_told: bdata dtype
        frames[].spread.not_told_why: bdata dtype
        frames[].spread.noted: bdata dtype
        frames[].spread.noted_count: bdata dtype
        frames[].spread.noted_event: bdata dtype
        frames[].spread.noted_ordinal: bdata dtype
        frames[].spread.opened: bdata dtype
        frames[].spread.opened_event: bdata dtype
        frames[].spread.phase_event: bdata dtype
        frames[].spread.recorded: bdata dtype
        frames[].spread.recorded_event: bdata dtype
        frames[].states: event known process state
        frames[].states.event: bdata dtype
        frames[].states.known: bdata dtype
        frames[].states.process: bdata dtype
        frames[].states.state[]: offset times users
        frames[].strays: bdata dtype
        frames[].taken: channel event ordinal
        frames[].taken.channel: bdata dtype
        frames[].taken.event: bdata dtype
        frames[].taken.ordinal: bdata dtype
        frames[].watermarks: event process watermark
        frames[].watermarks.event: bdata dtype
        frames[].watermarks.process: bdata dtype
    """,
    "api/recordings/<int:id>/search": """
        : bins_of_order bins_of_time complete hits offset searched total
        hits[]: at channel index kind label message process snapshot step value
        hits[].value: key value
    """,
    "api/recordings/<int:id>/snapshots-in-brief": """
        : items next total
        items[]: answers began_at ended_at events outcome recorded snapshot verdict
        items[].answers: channels cut rule states
    """,
    "api/recordings/<int:id>/snapshots": """
        : items next total
        items[]: answers began_at duration ended_at initiators markers_received markers_sent
        items[]: outcome positions snapshot totals verdict verdict_counts verdicts
        items[].answers[]: answer question sentence
        items[].positions: *
        items[].totals: channels conserved processes start total
        items[].verdict_counts[]: count verdict
        items[].verdicts[]: channel message received sent sentence value verdict
        items[].verdicts[].received: at index process
        items[].verdicts[].sent: at index process
    """,
    "api/recordings/<int:id>/snapshots/<text:snapshot>": """
        : answers began_at channels duration ended_at initiators markers_received markers_sent
        : messages outcome part positions processes recomputed recorded recorded_at
        : recorded_messages snapshot totals unended verdict verdict_counts verdicts why_empty
        : why_unknown
        answers[]: answer question sentence
        channels: *
        messages: *
        positions: *
        processes: *
        processes.*: completed offset times users
        recomputed: channels processes
        recomputed.channels: *
        recomputed.processes: *
        recomputed.processes.*: completed offset times users
        recorded: channels processes
        recorded.channels: *
        recorded.processes: *
        recorded.processes.*: completed offset times users
        recorded_at: *
        recorded_messages: *
        totals: channels conserved processes start total
        verdict_counts[]: count verdict
        verdicts[]: channel message received sent sentence value verdict
        verdicts[].received: at index process
        verdicts[].sent: at index process
    """,
    "api/recordings/<int:id>/topology": """
        : arrangement channels processes
        arrangement: alone bands drawn is_guessed operators places
        arrangement.operators[]: key members name
        channels[]: fifo id source target
        processes[]: events first_at first_step id state
        processes[].state: completed offset times users
    """,
    "api/recordings/<int:id>/window": """
        : axis bins control depths events events_total exact from kinds markers markers_total
        : messages messages_total positions positions_to snapshots states states_known strays
        : strays_before
        : to watermarks
        control: coordinators doing_names doings doings_hidden signal_names signals signals_total
        control: why_not
        control.doings: channel process since snapshot until what
        control.doings.channel: bdata dtype
        control.doings.process: bdata dtype
        control.doings.since: bdata dtype
        control.doings.snapshot: bdata dtype
        control.doings.until: bdata dtype
        control.doings.what: bdata dtype
        control.signals: * arrived coordinator kind lost sent snapshot task
        control.signals.*: bdata dtype
        control.signals.arrived: bdata dtype
        control.signals.coordinator: bdata dtype
        control.signals.kind: bdata dtype
        control.signals.lost: bdata dtype
        control.signals.sent: bdata dtype
        control.signals.snapshot: bdata dtype
        control.signals.task: bdata dtype
        events: at channel index kind label process snapshot state state_known step
        events.at: bdata dtype
        events.channel: bdata dtype
        events.index: bdata dtype
        events.kind: bdata dtype
        events.process: bdata dtype
        events.snapshot: bdata dtype
        events.state[]: completed offset times users
        events.state_known: bdata dtype
        events.step: bdata dtype
        markers: channel received_at received_index received_step sent_at sent_index sent_step
        markers: snapshot
        markers.channel: bdata dtype
        markers.received_at: bdata dtype
        markers.received_index: bdata dtype
        markers.received_step: bdata dtype
        markers.sent_at: bdata dtype
        markers.sent_index: bdata dtype
        markers.sent_step: bdata dtype
        markers.snapshot: bdata dtype
        messages: channel message ordinal received_at received_index received_step sent_at
        messages: sent_index sent_step value
        messages.channel: bdata dtype
        messages.ordinal: bdata dtype
        messages.received_at: bdata dtype
        messages.received_index: bdata dtype
        messages.received_step: bdata dtype
        messages.sent_at: bdata dtype
        messages.sent_index: bdata dtype
        messages.sent_step: bdata dtype
        messages.value[]: key value
        states[]: completed offset times users
        strays: index process
        strays.index: bdata dtype
        strays.process: bdata dtype
    """,
    "recordings/<int:pk>": """
        : coordinators is_dataflow is_visitor recording shows_notes snapshots topology urls view
        recording: counts extent id is_derived name notes sample status time_unit worst
        recording.counts: channels defects events markers messages processes snapshots
        recording.extent: from steps to
        snapshots[]: answers began_at duration ended_at initiators markers_received markers_sent
        snapshots[]: outcome positions snapshot totals verdict verdict_counts verdicts
        snapshots[].answers[]: answer question sentence
        snapshots[].positions: *
        snapshots[].totals: channels conserved processes start total
        snapshots[].verdict_counts[]: count verdict
        snapshots[].verdicts[]: channel message received sent sentence value verdict
        snapshots[].verdicts[].received: at index process
        snapshots[].verdicts[].sent: at index process
        topology: arrangement channels processes
        topology.arrangement: alone bands drawn is_guessed operators places
        topology.arrangement.operators[]: key members name
        topology.channels[]: fifo id source target
        topology.processes[]: events first_at first_step id state
        topology.processes[].state: completed offset times users
    """,
}


def keys_of(answer: Any, names: set[str], path: str = "") -> Iterator[str]:
    """Yield the path of every key; a key that is the name of a process or channel is ``*``."""
    if isinstance(answer, list):
        for item in answer:
            yield from keys_of(item, names, f"{path}[]")
    elif isinstance(answer, dict):
        for name, value in answer.items():
            inner = f"{path}.{'*' if name in names else name}".lstrip(".")
            yield inner
            yield from keys_of(value, names, inner)


def listed(text: str) -> set[str]:
    """Return the paths of a list, of which each line has a path and the keys below it."""
    paths = set()
    for line in text.strip().splitlines():
        parent, _, names = line.strip().partition(":")
        paths |= {f"{parent.strip()}.{name}".lstrip(".") for name in names.split()}
    return paths


def lines_of(paths: set[str]) -> str:
    """Return a list of paths as it stands in this file."""
    below: dict[str, list[str]] = {}
    for path in sorted(paths):
        parent, _, name = path.rpartition(".")
        below.setdefault(parent, []).append(name)
    return "\n".join(f"{parent}: {' '.join(names)}" for parent, names in sorted(below.items()))


def a_recording(owning, slug: str) -> Recording:
    """Return a recording of a team, whose row says more than strangers may read."""
    row = a_ready_recording(owning.account, LOGS[slug].log())
    Recording.objects.filter(pk=row.pk).update(
        source_name=f"{SECRET}.jsonl",
        upload=SECRET,
        parameters={"recognised": f"It is {SECRET}.", "secret": SECRET},
        format=f"mapping:{SECRET}"[:64],
        defects=[{"code": "x", "sentence": SECRET, "file": SECRET}],
        defects_total=1,
    )
    Job.objects.create(owner=owning.account, recording=row, kind=Job.Kind.INGEST)
    row.refresh_from_db()
    return row


def names_in(topology) -> set[str]:
    return {item["id"] for kind in ("processes", "channels") for item in topology[kind]}


def data_of(page: str) -> Any:
    """Return the data with which the workbench begins."""
    found = re.search(r'id="workbench-data" type="application/json">(.*?)</script>', page, re.S)
    assert found is not None
    return json.loads(found[1])


def calls_of(client, row: Recording, data: Any) -> dict[str, Any]:
    """Return the answers to all that the workbench asks, by the routes of ``access``."""
    api, event = f"/api/recordings/{row.pk}", f"{data['topology']['processes'][0]['id']}/0"
    paths = {
        "topology": "topology",
        "snapshots": "snapshots",
        "snapshots-in-brief": "snapshots-in-brief",
        "snapshots/<text:snapshot>": f"snapshots/{data['snapshots'][0]['snapshot']}",
        "window": "window",
        "frames": f"frames?step=0&rate=30&key=true&snapshot={data['snapshots'][0]['snapshot']}",
        "search": "search?query=m",
        "events/<text:process>/<int:index>": f"events/{event}",
        "cones/<text:process>/<int:index>": f"cones/{event}",
        "entries": "entries",
    }
    answers = {route: client.get(f"{api}/{path}") for route, path in paths.items()}
    headers = {"X-CSRFToken": client.cookies["csrftoken"].value}
    cut = dumps({"step": 3})
    answers["cuts"] = client.post(
        f"{api}/cuts", cut, content_type="application/json", headers=headers
    )
    assert {answer.status_code for answer in answers.values()} == {200}
    return {f"api/recordings/<int:id>/{route}": answer.json() for route, answer in answers.items()}


def visited(editor, team) -> dict[str, set[str]]:  # noqa: F811, a fixture
    """Return the keys of each answer about several recordings; no answer says a secret."""
    seen: dict[str, set[str]] = {}
    for slug in SHOWN:
        row = a_recording(team, slug)
        place = f"snapshot:{row.snapshots.earliest('code').snapshot}"
        note = entries.write(editor, row, {"text": "Look", "place": place})
        entries.answer(editor, note, "Why?")
        client = a_visitor(a_link(row, editor, with_notes=True)[1])
        page = text_of(client.get(f"/recordings/{row.pk}"))
        data = data_of(page)
        answers = calls_of(client, row, data)
        notes = answers["api/recordings/<int:id>/entries"]
        assert {each["author"] for each in notes["items"]} == {editor.username}
        without_authors = dumps(answers).replace(editor.username.encode(), b"")
        for secret in (SECRET, "payments", "example.org"):
            assert secret not in page, secret
            assert secret.encode() not in without_authors, secret
        names = names_in(data["topology"])
        for route, answer in {"recordings/<int:pk>": data, **answers}.items():
            seen.setdefault(route, set()).update(keys_of(answer, names))
    return seen


def test_a_visitor_of_a_recording_gets_the_listed_keys_and_no_others(editor, team):  # noqa: F811
    seen = visited(editor, team)
    for route, keys in seen.items():
        assert lines_of(keys) == lines_of(listed(KEYS[route])), route


def test_every_route_that_visitors_reach_has_a_list():
    routes = {*visiting.SHOWN, *visiting.WITH_NOTES, *visiting.WITH_DOWNLOADS}
    downloads = {"recordings/<int:pk>/original"}  # the uploaded file itself
    assert routes == {*KEYS, "reviews/<int:pk>", *downloads}


def test_the_page_of_a_review_is_made_of_the_listed_keys(editor, team):  # noqa: F811
    row = incidents.open_review(editor, team.account, {"title": "Orders were lost"})
    banks = a_recording(team, "two-banks")
    incidents.add_exhibit(editor, row, banks)
    timeline.add_words(editor, row, {"text": "We restarted."})
    client = a_visitor(a_link(row, editor)[1])
    answer = client.get(f"/reviews/{row.pk}")
    page = text_of(answer)
    for secret in (SECRET, "payments", "example.org"):
        assert secret not in page, secret
    assert lines_of(set(keys_of(dict(answer.context["review"]), set()))) == lines_of(
        listed(
            """
            : exhibits hidden rows severity spans status summary summary_html title
            exhibits[]: name
            spans[]: name seconds words
            """
        )
    )


@in_database
async def test_the_answers_of_a_visitors_socket_have_the_keys_of_the_calls(editor, team):  # noqa: F811
    row = await database_sync_to_async(a_recording)(team, "two-banks")
    link, _ = await database_sync_to_async(a_link)(row, editor)
    socket = await visiting_socket(row, link)
    questions = {
        "window": {},
        "cut": {"positions": [2, 5]},
        "search": {"query": "m1"},
    }
    assert set(questions) == set(consumers.ASKED)
    for kind, question in questions.items():
        answer = await asked(socket, {"type": kind, "request": 1, **question})
        assert answer["type"] == kind, answer
        keys = set(keys_of(answer, {"A", "B", "A->B", "B->A"})) - {"type", "request"}
        route = {"cut": "cuts"}.get(kind, kind)
        assert keys <= listed(KEYS[f"api/recordings/<int:id>/{route}"]), kind
    play = {"type": "play", "session": 1, "step": 0, "rate": 5, "snapshot": "s1"}
    await socket.send_json_to(play)
    for _ in range(3):
        frame = await socket.receive_json_from(timeout=10)
        assert frame["type"] == "frame", frame
        keys = set(keys_of({"frames": [frame]}, {"A", "B", "A->B", "B->A"}))
        sent_alone = {f"frames[].{name}" for name in ("type", "session", "sequence")}
        assert keys - sent_alone <= listed(KEYS["api/recordings/<int:id>/frames"])
    await socket.disconnect()
