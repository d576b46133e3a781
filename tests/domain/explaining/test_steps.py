"""The sentence of an event says which rule fired, and the store says the same as the reference."""

import pytest
from hypothesis import given, settings

from snapshots.domain.explaining.of_recording import LogOfRecording
from snapshots.domain.explaining.steps import sentence_of
from snapshots.domain.judging.snapshot_log import snapshot_logs
from snapshots.domain.model.recording import KINDS, Recording
from snapshots.domain.simulators.dataflow_samples import SAMPLES_OF_DATAFLOWS
from snapshots.domain.simulators.protocols import lai_yang
from snapshots.domain.simulators.samples import two_banks
from snapshots.store.explaining import StoredLog
from tests.builders import a_run, recorded, runs, simulated
from tests.domain.judging.edges import EDGES
from tests.domain.judging.restored import RESTORED
from tests.effort import examples
from tests.store.folders import stored

SAMPLES = {sample.slug: sample for sample in SAMPLES_OF_DATAFLOWS}


def sentences(recording: Recording, chosen: str | None = None, log=None) -> list[str]:
    """Return the sentences of all events, in the order of their steps."""
    log = log or LogOfRecording(recording)
    events = sorted((e for each in recording.events.values() for e in each), key=lambda e: e.step)
    return [sentence_of(log, event, chosen) for event in events]


def test_the_two_banks_are_told_by_the_rules_of_the_paper():
    said = sentences(recorded(two_banks()), "s1")
    records = (
        "B had not recorded: it records 3,000, notes A->B as empty, and sends a marker on B->A."
    )
    assert said[2:16] == [
        "A sends m1 (1,000) to B on A->B.",
        "A records 9,000 for s1 and sends a marker on A->B.",
        "A records 9,000 for s1 and sends a marker on A->B.",
        "B sends m2 (1,000) to A on B->A.",
        "B receives m1 (1,000) on A->B.",
        "A receives m2 (1,000) on B->A before the marker of s1: A notes it for B->A.",
        "B sends m3 (2,000) to A on B->A.",
        "The marker of s1 arrives at B on A->B: B had not recorded, so it records.",
        records,
        records,
        records,
        "A receives m3 (2,000) on B->A before the marker of s1: A notes it for B->A.",
        "The marker of s1 arrives at A on B->A: A had recorded, so B->A is locked with 2 messages.",
        "The marker of s1 arrives at A on B->A: A had recorded, so B->A is locked with 2 messages.",
    ]
    assert said[16] == "A sends m4 (500) to B on A->B, after it has recorded: that is outside s1."


def test_without_a_chosen_snapshot_a_message_has_a_plain_sentence():
    said = sentences(recorded(two_banks()))
    assert "A receives m2 (1,000) on B->A." in said
    assert "A sends m4 (500) to B on A->B." in said


def test_markers_on_many_channels_are_counted():
    said = sentences(recorded(simulated()))
    assert any(text.endswith("sends markers on all its channels.") for text in said)


def test_what_the_log_does_not_show_is_not_claimed():
    run = a_run().record("p", "s").send_marker("p->q", "s").receive_marker("p->q", "s")
    said = sentences(recorded(run))
    assert "The marker of s arrives at q on p->q: q never records." in said


def test_a_run_of_lai_and_yang_is_told_likewise():
    said = sentences(recorded(simulated(protocol=lai_yang)))
    assert any("had not recorded: it records" in text for text in said)


@pytest.mark.parametrize(
    ("slug", "expected"),
    [
        (
            "back-pressure",
            "count[0] blocks source[0]->count[0] until the barriers of checkpoint 1 have come on "
            "all its inputs.",
        ),
        (
            "overtaking-barriers",
            "count[0] writes 1 record of source[1]->count[0] into checkpoint 1: 1 from its input, "
            "0 from the output of source[1].",
        ),
        (
            "overtaking-barriers",
            "The barrier of checkpoint 1 arrives at count[0] on source[1]->count[0], ahead of the "
            "records that it has overtaken.",
        ),
        ("counted-twice", "is read again after a restore (at least once)."),
        (
            "splits-change-hands",
            "The split orders[0] goes back to orders.enumerator, from orders[0] to orders[0].",
        ),
        (
            "splits-change-hands",
            "files[0] pre-commits the transaction files[0]-t1 for checkpoint 3: it is written, and "
            "not yet visible.",
        ),
        ("uncommitted-batch", "The driver commits batch 0: all its channels are empty."),
        ("uncommitted-epoch", "The driver ends epoch 0: the readers learn of it at 2 tasks."),
    ],
)
def test_each_engine_is_told_by_its_own_rules(slug, expected):
    assert any(text.endswith(expected) for text in sentences(recorded(SAMPLES[slug].log())))


@pytest.mark.parametrize("slug", SAMPLES)
def test_every_event_of_a_dataflow_has_a_whole_sentence_and_the_store_says_the_same(slug):
    recording = recorded(SAMPLES[slug].log())
    said = sentences(recording)
    for text in said:
        assert text.endswith("."), text
        assert "not known" not in text, text
        assert not any(f": {kind} " in text or f": {kind}." in text for kind in KINDS), text
    with stored(recording) as opened:
        assert sentences(recording, log=StoredLog(opened)) == said


@settings(max_examples=examples(20), deadline=None)
@given(log=runs(max_processes=6))
def test_the_store_says_the_same_of_any_run(log):
    compare(recorded(log))


@pytest.mark.parametrize("make", [*RESTORED, *EDGES], ids=lambda make: make.__name__)
def test_the_store_says_the_same_at_the_edges_and_behind_restores(make):
    compare(recorded(make()))


def compare(recording: Recording) -> None:
    with stored(recording) as opened:
        for chosen in [None, *(log.id for log in snapshot_logs(recording))]:
            expected = sentences(recording, chosen)
            assert sentences(recording, chosen, StoredLog(opened)) == expected
