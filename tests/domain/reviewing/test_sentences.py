"""Sentences repeat the answer that they are made of, and say what it does not know."""

import pytest

from snapshots.domain.reviewing import sentences
from snapshots.domain.reviewing.places import ORDER, TIME, MomentPlace
from snapshots.domain.reviewing.sentences import LogFacts

LOG = LogFacts("us")
DERIVED = LogFacts("ms", is_derived=True, channels=2)
UNTIMED = LogFacts("ms", is_derived=True, is_timed=False, channels=2)
AT = MomentPlace(TIME, 5200)
ORPHAN = {"verdict": "orphan", "sentence": "…", "message": "m17", "channel": "p3->p9"}


def a_cut(**changes: object) -> dict:
    """Return a CutAnswer, by default of a whole log without messages in flight."""
    cut = {"at": 5200, "consistent": True, "channels": {"A->B": [], "B->A": []}, "omitted": {}}
    cut |= {"states": {}, "orphans": [], "orphans_total": 0, "strays_total": 0}
    return cut | changes


@pytest.mark.parametrize(
    ("cut", "log", "moment", "sentence"),
    [
        (
            a_cut(channels={"A->B": [], "B->A": [1000, 2000]}),
            LOG,
            AT,
            "cut at 5.2 ms: B->A holds 2 messages (1000, 2000); consistent",
        ),
        (a_cut(), LOG, MomentPlace(ORDER, 31), "cut after 31 events: all channels are empty; c…"),
        (a_cut(at=None), LOG, None, "cut before every event: all channels are empty; consistent"),
        (
            a_cut(consistent=False, orphans=[ORPHAN], orphans_total=3),
            LOG,
            None,
            "cut up to 5.2 ms: all channels are empty; not consistent: orphan m17 on p3->p9 and 2 "
            "more orphans",
        ),
        (
            a_cut(
                channels={name: [None] * size for size, name in enumerate("abcde", 1)},
                omitted={"e": 10},
            ),
            LOG,
            AT,
            "cut at 5.2 ms: e holds 15 messages, d holds 4 messages, c holds 3 messages, 2 more "
            "channels hold 3 messages; consistent",
        ),
        (
            a_cut(consistent=None, strays_total=2),
            LOG,
            AT,
            "cut at 5.2 ms: all channels are empty; whether it is consistent is not known: the log "
            "has no send for 2 receives inside it",
        ),
        (
            a_cut(consistent=None, channels={}),
            DERIVED,
            AT,
            "cut at 5.2 s: what the channels hold is not known; whether it is consistent is not "
            "known",
        ),
        (
            a_cut(consistent=None, channels={"A->B": [{"n": 1}, None]}),
            UNTIMED,
            AT,
            "cut at a time that is not known: A->B holds 2 messages (n: 1, not known), what other "
            "channels hold is not known; whether it is consistent is not known",
        ),
    ],
)
def test_a_cut_is_worded_as_its_answer_says(cut, log, moment, sentence):
    worded = sentences.cut_sentence(cut, log, moment)
    if sentence.endswith("…"):
        assert worded.startswith(sentence[:-1])
    else:
        assert worded == sentence


@pytest.mark.parametrize(
    ("outcome", "findings", "total", "sentence"),
    [
        ("orphan", [ORPHAN], 1, "snapshot s1: orphan m17 on p3->p9"),
        ("orphan", [ORPHAN] * 3, 104, "snapshot s1: orphan m17 on p3->p9, and 103 more findings"),
        ("consistent", [{"verdict": "consistent", "sentence": "…"}], 1, "snapshot s1: consistent"),
        (
            "not known",
            [{"verdict": "unknown", "sentence": "The log lacks sends."}],
            1,
            "snapshot s1: not known. The log lacks sends.",
        ),
        ("damaged", [{"verdict": "incomplete", "sentence": "…"}], 1, "snapshot s1: damaged"),
    ],
)
def test_a_snapshot_is_worded_by_its_worst_finding(outcome, findings, total, sentence):
    assert sentences.snapshot_sentence("s1", outcome, findings, total) == sentence


def test_what_a_derived_recording_does_not_show_is_not_known():
    cut = a_cut(consistent=None, channels={})
    channel = sentences.channel_sentence("A->B", cut, DERIVED, AT)
    assert channel == "channel A->B at 5.2 s: what it holds is not known"
    process = sentences.process_sentence("A", cut, DERIVED, AT)
    assert process == "process A at 5.2 s: its state is not known"
    message = {"message": "m1", "channel": "A->B", "value": None, "sent_at": 7, "received_at": None}
    worded = sentences.message_sentence(message, DERIVED, 1)
    not_known = "message m1 on A->B: when it was sent and whether it arrived is not known"
    assert worded == not_known
    assert sentences.message_sentence(message | {"received_at": 9}, DERIVED, 1) == not_known
    in_flight = sentences.message_sentence(message | {"value": 4}, LOG, 2)
    assert in_flight == (
        "message m1 (4) on A->B: sent at 7 µs, never received: in flight at the end; 2 messages "
        "of the channel have this id"
    )


def test_an_archived_checkpoint_without_times_is_not_called_quick():
    assert sentences.archived_sentence(41, 0, "failed", None, "") == (
        "checkpoint 41: failed, how long it took is not known; for whom it waited is not known"
    )
    waited = sentences.archived_sentence(41, 2, "completed", 21_000, "sink[1] acknowledged last.")
    assert waited == "checkpoint 41 of pipeline 2: completed, 21 s; sink[1] acknowledged last"


@pytest.mark.parametrize(
    ("recorded", "recomputed", "log", "sentence"),
    [
        ([], None, LOG, "recorded: empty; recomputed: not known"),
        ([5], [5], LOG, "recorded: 1 message (5); recomputed: 1 message (5)"),
        ([5], [5], DERIVED, "recorded: 1 message (5)"),
        ([5], [6], DERIVED, "recorded: 1 message (5); recomputed: 1 message (6)"),
        (None, None, DERIVED, "recorded: not known"),
    ],
)
def test_contents_are_worded_as_far_as_they_are_known(recorded, recomputed, log, sentence):
    worded = sentences.snapshot_channel_sentence("s1", "A->B", recorded, recomputed, log)
    assert worded == f"channel A->B in snapshot s1: {sentence}"


@pytest.mark.parametrize(
    ("log", "inferred", "when"),
    [
        (LOG, ["at"], "3.8 ms"),
        (DERIVED, ["at"], "a time that is not known"),
        (DERIVED, ["index"], "3.8 s"),
    ],
)
def test_the_instant_of_an_event_is_worded_if_a_file_says_it(log, inferred, when):
    event = {"kind": "send", "process": "A", "index": 0, "at": 3_800, "state": 1}
    worded = sentences.event_sentence(event | {"extra": {"inferred": inferred}}, log)
    assert worded == f"event 0 of A at {when}: send; state 1"


def test_a_derived_cut_that_lists_every_channel_knows_what_each_holds():
    cut = a_cut(consistent=None, channels={"A->B": [1], "B->A": [2]})
    worded = sentences.cut_sentence(cut, DERIVED, None)
    assert "A->B holds 1 message (1), B->A holds 1 message (2); whether" in worded
