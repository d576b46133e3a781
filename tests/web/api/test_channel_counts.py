"""The counts n, n', m and m' of section 3.1 of the paper: in the API and on the snapshot page."""

from dataclasses import replace

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model import shapes
from snapshots.domain.simulators.samples import SAMPLES
from tests.builders import a_run, simulated
from tests.web.given import a_ready_recording, signed_in
from tests.web.pages.test_snapshot import snapshot_page, words

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
BY_SLUG = {sample.slug: sample for sample in SAMPLES}


def counts_of(api, row, snapshot="s1"):
    answer = api.get(f"/api/recordings/{row.pk}/channel-counts", {"snapshot": snapshot})
    assert answer.status_code == 200, answer.content
    return {item["channel"]: item for item in answer.json()["items"]}


def numbers(item):
    return item["n"], item["n_of_channel"], item["m"], item["m_of_channel"], item["holds"]


@pytest.mark.parametrize(
    ("slug", "channel", "expected"),
    [
        ("two-banks", "A->B", (1, None, 1, None, True)),
        ("two-banks", "B->A", (2, 2, 0, 0, True)),
        ("one-token", "c'", (1, 1, 0, 0, True)),
        ("two-tokens", "c", (0, 1, 0, 0, False)),
        ("no-token", "c", (1, None, 0, None, False)),
        ("no-token", "c'", (0, None, 0, None, True)),
    ],
)
def test_the_counts_of_the_papers_examples(api, ada, slug, channel, expected):
    counts = counts_of(api, a_ready_recording(ada, BY_SLUG[slug].log()))
    assert numbers(counts[channel]) == expected


@pytest.mark.parametrize(
    "slug", [sample.slug for sample in SAMPLES if sample.slug != "fifty-processes"]
)
def test_the_counts_agree_iff_the_snapshot_of_a_sample_is_consistent(api, ada, slug):
    row = a_ready_recording(ada, BY_SLUG[slug].log())
    for report in judge(assemble(*BY_SLUG[slug].log()).recording):
        holds = {item["holds"] for item in counts_of(api, row, report.snapshot).values()}
        assert (holds == {True}) == (report.verdict == "consistent"), report.snapshot
        assert None not in holds


@pytest.mark.parametrize("seed", range(3))
def test_the_counts_are_those_of_the_log_by_brute_force(api, ada, seed):
    log = simulated(shapes.complete(3), seed=seed, snapshots=[(9_000, ("p1",))])
    counts = counts_of(api, a_ready_recording(ada, log))
    recording = assemble(*log).recording
    (report,) = judge(recording)
    for channel in recording.topology.channels:
        sender, receiver = report.positions[channel.source], report.positions[channel.target]
        messages = recording.messages.get(channel.id, ())
        n = sum(message.sent_index < sender for message in messages)
        m = sum(
            message.received_index is not None and message.received_index < receiver
            for message in messages
        )
        item = counts[channel.id]
        assert (item["n"], item["m"], item["holds"]) == (n, m, True)
        if n > m:
            assert (item["n_of_channel"], item["m_of_channel"]) == (n, m)
        else:
            assert "which number" in item["sentence"]


def test_an_end_that_never_recorded_leaves_its_count_unknown(api, ada):
    log = a_run().send("p->q", "m1", 3, state=7).record("p", "s1").log()
    item = counts_of(api, a_ready_recording(ada, log))["p->q"]
    assert numbers(item) == (1, None, None, None, None)
    assert "the state of the receiver is recorded" in item["sentence"]


def test_a_channel_that_nobody_recorded_is_not_known(api, ada):
    log = a_run().send("p->q", "m1", 3, state=7).record("p", "s1").record("q", "s1").log()
    item = counts_of(api, a_ready_recording(ada, log))["p->q"]
    assert numbers(item) == (1, None, 0, None, None)


def test_a_message_received_and_not_yet_sent_breaks_the_inequality(api, ada):
    log = (
        a_run()
        .record("p", "s1")
        .send("p->q", "m1", 3, state=7)
        .receive("p->q", "m1", state=8)
        .record("q", "s1")
        .record_channel("p->q", "s1")
        .log()
    )
    item = counts_of(api, a_ready_recording(ada, log))["p->q"]
    assert item["holds"] is False
    assert item["sentence"] == "n >= m is broken: n = 0 and m = 1."


def test_a_message_recorded_in_a_gap_is_no_state_of_the_channel(api, ada):
    run = a_run()
    for name in ("m1", "m2", "m3"):
        run.send("p->q", name, 1)
    log = run.record("p", "s1").record("q", "s1").record_channel("p->q", "s1", "m1", "m3").log()
    item = counts_of(api, a_ready_recording(ada, log))["p->q"]
    assert numbers(item) == (3, None, 0, None, False)
    assert "not consecutive" in item["sentence"]


def test_a_receive_without_a_send_leaves_all_counts_unknown(api, ada):
    log = a_run().receive("p->q", "m1").record("p", "s1").record("q", "s1").log()
    item = counts_of(api, a_ready_recording(ada, log))["p->q"]
    assert numbers(item) == (None, None, None, None, None)
    assert "not its send" in item["sentence"]


def test_messages_that_overtake_leave_the_comparison_unknown(api, ada):
    run = a_run().send("p->q", "m1", 1).send("p->q", "m2", 1).receive("p->q", "m2")
    log = run.record("p", "s1").record("q", "s1").record_channel("p->q", "s1", "m1").log()
    item = counts_of(api, a_ready_recording(ada, log))["p->q"]
    assert numbers(item) == (2, None, 1, None, None)
    assert "overtook" in item["sentence"]


def test_a_derived_recording_claims_no_count(api, ada):
    log = BY_SLUG["two-tokens"].log()
    log = log._replace(header=replace(log.header, extra={"derived": True}))
    row = a_ready_recording(ada, log)
    for item in counts_of(api, row).values():
        assert numbers(item) == (None, None, None, None, None)
    page = words(snapshot_page(signed_in(ada), row))
    assert "nothing says how many messages were sent" in page
    assert "A consistent snapshot has" not in page


def test_the_snapshot_page_shows_the_counts_and_the_inequality(ada):
    row = a_ready_recording(ada, BY_SLUG["two-tokens"].log())
    page = words(snapshot_page(signed_in(ada), row))
    assert "Counts of each channel" in page
    assert "n = n' is broken: n = 0 and n' = 1." in page
    assert "n′ ≥ m′" in page
