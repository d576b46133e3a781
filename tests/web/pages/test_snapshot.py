"""The page of one snapshot: verdict, witnesses, contents, restore."""

import html
import re
from dataclasses import replace

import pytest
from django.utils import timezone

from snapshots import quantities
from snapshots.domain.model import shapes
from snapshots.domain.model.recording import LoggedEvent
from snapshots.domain.model.values import canonical
from snapshots.domain.simulators.samples import two_banks
from snapshots.domain.simulators.script import Log, Script
from snapshots.domain.simulators.stable_samples import everyone_learns_it
from snapshots.files.recordings import open_recording
from snapshots.models import Job, Recording
from snapshots.web.pages import links
from snapshots.web.pages.snapshot_rows import state_rows
from tests.builders import a_run, simulated
from tests.damage import lose_recorded_message, never_sending, overtake
from tests.web.given import a_client, a_person, a_ready_recording, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def words(page: str) -> str:
    """Return the text of a page without tags and white space."""
    return html.unescape(" ".join(re.sub(r"<[^>]+>", " ", page).split()))


def snapshot_page(client, row: Recording, snapshot: str = "s1") -> str:
    return text_of(client.get(links.to_snapshot(row.pk, snapshot)))


def test_the_two_banks_show_what_the_paper_says(client, ada):
    page = words(snapshot_page(client, a_ready_recording(ada)))
    assert "A initiator 2.9 ms 2 9,000 9,000 B 5.2 ms 5 3,000 3,000" in page
    assert "B->A 1,000 2,000 1,000 2,000" in page
    assert "1 channel empty A->B" in page
    assert "12,000 in processes + 3,000 in channels = 15,000, as at the start" in page
    assert "2 sent, 2 received" in page


def test_a_witness_links_to_its_events_in_the_workbench(client, ada):
    damaged = lose_recorded_message(simulated())
    row = a_ready_recording(ada, damaged.log)
    page = html.unescape(snapshot_page(client, row, damaged.snapshot))
    assert f"Lost: {damaged.message}" in words(page)
    address = links.to_workbench(
        row.pk, snapshot=damaged.snapshot, message=f"{damaged.message}@{damaged.channel}"
    )
    assert address in page
    assert client.get(address).status_code == 200


def test_a_message_that_was_not_recorded_is_marked_on_the_side_that_has_it(client, ada):
    damaged = lose_recorded_message(simulated())
    page = snapshot_page(client, a_ready_recording(ada, damaged.log), damaged.snapshot)
    marked = re.findall(r'<li class="message is-fault" title="message (\w+):', page)
    assert marked == [damaged.message]


def test_missing_money_is_reported(client, ada):
    damaged = lose_recorded_message(simulated())
    page = snapshot_page(client, a_ready_recording(ada, damaged.log), damaged.snapshot)
    assert "but 4,000 at the start" in words(page)


def test_an_overtaken_message_links_to_the_one_that_overtook_it(client, ada):
    damaged = overtake(simulated())
    row = a_ready_recording(ada, damaged.log)
    page = words(snapshot_page(client, row, damaged.snapshot))
    assert f"overtaken by {damaged.other or 'marker'}" in page


def test_a_snapshot_that_did_not_end_says_who_never_recorded(client, ada):
    log = simulated(protocol=never_sending("p1->p2", "s1"), drain=True)
    page = words(snapshot_page(client, a_ready_recording(ada, log)))
    assert "incomplete" in page
    run = Script("half", {"p": 1, "q": 2}, ["p->q", "q->p"]).record("p", "s1", at=5).log()
    page = words(snapshot_page(client, a_ready_recording(ada, run)))
    assert "q never" in page
    assert "1 of 2 processes" in page
    assert "2 channels not known: a process at one end never recorded" in page


def test_a_snapshot_that_does_not_end_names_the_condition_before_what_follows(client, api, ada):
    row = a_ready_recording(ada, simulated(shapes.ring(3), silent=frozenset({"p2"})))
    page = words(snapshot_page(client, row))
    assert "Why it does not end" in page
    assert (
        "L2 p2 never records, although a marker reached it on p1->p2 (condition L2). Therefore p3 "
        "never records. Therefore p3->p1 stays open."
    ) in page
    (cause,) = api.get(f"/api/recordings/{row.pk}/snapshots/s1").json()["unended"]["causes"]
    assert (cause["condition"], cause["process"], cause["channel"]) == ("L2", "p2", "p1->p2")
    whole = a_ready_recording(ada)
    assert "Why it does not end" not in words(snapshot_page(client, whole))
    assert api.get(f"/api/recordings/{whole.pk}/snapshots/s1").json()["unended"] is None


@pytest.mark.parametrize(
    "name", ["a/b", "ü 🏦", "<script>alert(1)</script>", "..", "a/../b", "?#&%2F", "x/", "a\nb"]
)
def test_any_text_is_a_snapshots_id(client, ada, name):
    row = a_ready_recording(ada, renamed(two_banks(), name))
    page = snapshot_page(client, row, name)
    assert "<script>alert" not in page
    assert "9,000" in page


def test_an_id_that_browsers_would_walk_up_at_goes_into_the_query():
    assert links.to_snapshot(1, "a/../b") == "/recordings/1/snapshots?id=a%2F..%2Fb"
    assert links.to_snapshot(1, "a/b.c") == "/recordings/1/snapshots/a/b.c"


def renamed(log: Log, name: str) -> Log:
    return log._replace(
        events=tuple(
            replace(event, snapshot=name) if event.snapshot else event for event in log.events
        )
    )


def test_a_snapshot_that_is_not_there_is_a_404(client, ada):
    row = a_ready_recording(ada)
    assert client.get(f"/recordings/{row.pk}/snapshots/s2").status_code == 404
    assert client.get(f"/recordings/{row.pk}/snapshots?id=a%00b").status_code == 404


def test_restore_is_a_job_that_the_page_follows(client, ada):
    row = a_ready_recording(ada)
    answer = client.post(f"/recordings/{row.pk}/snapshots/s1")
    assert answer.url == f"/recordings/{row.pk}/snapshots/s1#restore"
    job = Job.objects.get(recording=row, kind="restore", snapshot="s1")
    page = snapshot_page(client, row)
    assert f'data-job="{job.pk}"' in page
    assert 'data-state="queued"' in page


def test_the_report_of_a_restore_stays_on_the_page(client, ada):
    row = a_ready_recording(ada)
    difference = {
        "sentence": "A holds 1 more.",
        "event": {"process": "A", "index": 3, "at": 5},
        "expected": 5,
        "found": 6,
    }
    report = {
        "equal": False,
        "replayed": 13,
        "skipped": 7,
        "first_difference": difference,
        "differences": [difference],
        "differences_total": 4,
        "from_log": {"processes": [], "channels": ["A->B"]},
    }
    Job.objects.create(
        kind="restore",
        owner=ada,
        recording=row,
        snapshot="s1",
        state="done",
        result=report,
        finished_at=timezone.now(),
    )
    page = snapshot_page(client, row)
    assert "13 events replayed, 7 events skipped" in words(page)
    assert "4 differences, the first 1 shown" in words(page)
    assert f"/recordings/{row.pk}?event=3%40A" in page


def test_somebody_elses_restore_is_not_shown(client):
    row = a_ready_recording(None)
    eve = a_person("eve@example.org")
    report = {"equal": True, "replayed": 1, "skipped": 2, "differences": []}
    Job.objects.create(
        kind="restore", owner=eve, recording=row, snapshot="s1", state="done", result=report
    )
    assert "events skipped" not in words(snapshot_page(client, row))


def test_a_channel_with_many_messages_says_how_many_are_not_shown(client, ada, monkeypatch):
    monkeypatch.setattr("snapshots.web.pages.snapshot_rows.MOST_MESSAGES", 1)
    page = words(snapshot_page(client, a_ready_recording(ada)))
    assert "B->A 1,000 and 1 more message; the API gives all" in page


def test_where_pieces_are_collected_the_page_says_who_knew_all(client, ada):
    row = a_ready_recording(ada, simulated(collect=True), parameters={"collect": True})
    page = words(snapshot_page(client, row))
    assert "Who knew the whole state when 4 of 4 processes" in page
    found = client.get(f"/api/recordings/{row.pk}/knowledge?snapshot=s1").json()
    last = max(known["whole"]["at"] for known in found["processes"].values())
    assert quantities.instant(last, row.time_unit) in page
    other = a_ready_recording(ada)
    assert "Who knew" not in words(snapshot_page(client, other))
    nobody = client.get(f"/api/recordings/{other.pk}/knowledge?snapshot=s1").json()
    assert all(known["whole"] is None for known in nobody["processes"].values())
    assert client.get(f"/api/recordings/{other.pk}/knowledge?snapshot=x").status_code == 404


def a_derived_log(**told) -> Log:
    """Return a log in which p->q is known to be empty at s1, and nothing is recorded of q->p."""
    run = a_run().internal("p", "works", state=None).internal("q", "works", state=None)
    run.record("p", "s1", state={"bytes": {"keyed": 4}}).record("q", "s1", state=5)
    header, events = run.record_channel("p->q", "s1").log()
    return Log(replace(header, extra={"derived": True, **told}), events)


def test_a_derived_snapshot_says_what_that_means_and_what_is_not_known(client, ada):
    log = a_derived_log(why_empty={"s1": "aligned"}, why_unknown="no-files", notes=["As told.", 5])
    row = a_ready_recording(ada, log)
    page = words(snapshot_page(client, row))
    assert "Derived: the engine keeps no log of its events." in page
    assert "As told." in page
    assert "Not judged: the recording is derived from the checkpoint itself" in page
    assert "1 channel known to be empty. The checkpoint was aligned:" in page
    assert "1 channel not known. The checkpoint was unaligned, and its files are not" in page
    assert "Recomputed" not in page
    assert "bytes (keyed: 4)" in page
    assert '{"bytes"' not in page
    detail = a_client(ada).get(f"/api/recordings/{row.pk}/snapshots/s1").json()
    assert detail["why_empty"].startswith("The checkpoint was aligned")
    assert detail["why_unknown"].startswith("The checkpoint was unaligned")
    assert detail["channels"] == {"p->q": [], "q->p": None}
    assert detail["recorded"]["channels"] == {"p->q": []}
    workbench = text_of(client.get(f"/recordings/{row.pk}?snapshot=s1"))
    assert '"is_derived": true' in workbench


@pytest.mark.parametrize("odd", [5, None, {"a": 1}, "words"])
def test_an_uploaded_header_may_call_itself_derived_and_say_anything(client, ada, odd):
    row = a_ready_recording(ada, a_derived_log(why_empty=odd, why_unknown=odd, notes=odd))
    assert "2 channels" not in words(snapshot_page(client, row))


def test_an_ordinary_recording_gives_no_reasons(ada):
    row = a_ready_recording(ada)
    detail = a_client(ada).get(f"/api/recordings/{row.pk}/snapshots/s1").json()
    assert (detail["why_empty"], detail["why_unknown"]) == (None, None)


def long_states(last: int) -> Log:
    """Return two banks whose first state takes 2.5 MB and is recorded with another last number."""
    log = two_banks()
    keys = {f"k{number:0120}": number for number in range(20_000)}
    a, b = log.header.topology.processes
    topology = replace(log.header.topology, processes=(replace(a, state=canonical(keys)), b))
    recorded = canonical(keys | {max(keys): last})
    record = LoggedEvent(line=2, process="A", kind="record_state", snapshot="s1", state=recorded)
    return Log(replace(log.header, topology=topology), (record,))


@pytest.mark.parametrize(("last", "differs"), [(19_999, False), (7, True)])
def test_a_very_long_state_is_shown_in_part_and_compared_whole(ada, data_dir, last, differs):
    row = a_ready_recording(ada, long_states(last))
    states = open_recording(row).snapshot("s1")
    shown = next(item for item in state_rows(states, []) if item.process == "A")
    assert shown.differs == differs
    assert shown.recorded.startswith('{"k000000')
    assert "more characters: the API gives all of them)" in shown.recorded
    assert len(shown.recorded) < 2_000


def test_pages_of_a_recording_with_a_very_long_state_stay_small(client, ada):
    row = a_ready_recording(ada, long_states(19_999))
    assert len(snapshot_page(client, row)) < 100_000
    page = text_of(client.get(f"/recordings/{row.pk}"))
    assert len(page) < 500_000
    assert '"topology": null' in page


def test_the_four_answers_stand_above_the_witnesses(client, ada):
    shown = snapshot_page(client, a_ready_recording(ada))
    assert "Every message received inside the cut was sent inside it." in shown
    assert "What was recorded in the channels is what was in flight." in shown
    assert shown.index("Every recorded state is the state at the cut.") < shown.index("Begun by")


def test_one_reason_is_said_once_and_older_snapshots_say_that_they_have_no_answers(client, ada):
    row = a_ready_recording(ada)
    same = {"answer": "not-known", "sentence": "Nobody logged it."}
    answers = [same | {"question": name} for name in ("cut", "channels", "states", "rule")]
    row.snapshots.update(answers=answers)
    shown = snapshot_page(client, row)
    assert shown.count("Nobody logged it.") == 1
    assert "Cut, channels, states, rule" in shown
    row.snapshots.update(answers=[])
    assert "judged by an older version" in snapshot_page(client, row)


def test_a_sample_that_collects_says_which_piece_came_when(client, ada):
    row = a_ready_recording(ada, everyone_learns_it())
    page = words(snapshot_page(client, row))
    assert "Who knew the whole state when 4 of 4 processes" in page
    assert "p3 25.185 ms 4 p3 11.164 ms p2 11.164 ms p1 25.185 ms p4 25.185 ms" in page
