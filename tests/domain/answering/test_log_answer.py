"""The first answer to a log of one's own: the worst verdict with its witness comes first."""

from snapshots.domain.answering.log import JudgedSnapshot, subject, told
from snapshots.domain.answering.sentences import FACT, NOT_KNOWN, WATCH, WELL, WRONG
from snapshots.domain.judging.answers import Answer

FOUR = (
    Answer("cut", "does-not-hold", "1 message was received inside the cut and sent outside it."),
    Answer("channels", "holds", "Nothing was in flight.", "The log has no record of any channel."),
    Answer("states", "not-known", "The log does not say which state 2 processes recorded."),
    Answer("rule", "holds", "Every process recorded."),
)


def texts(*args, **fields) -> list[tuple[str, str]]:
    return [(item.level, item.text) for item in subject("log", *args, **fields).sentences]


def test_the_worst_verdict_and_its_witness_come_first():
    worst = JudgedSnapshot("s3", "orphan", "Not consistent: B received m1 before A sent it.", FOUR)
    found = texts({"orphan": 1, "consistent": 4}, worst, 0)
    assert found == [
        (
            WRONG,
            "The worst of 5 snapshots (1 orphan and 4 consistent) is s3. Not consistent: B "
            "received m1 before A sent it.",
        ),
        (
            WRONG,
            "In s3 this does not hold. Cut: 1 message was received inside the cut and sent outside "
            "it.",
        ),
        (WELL, "In s3 channels and rule hold. The log has no record of any channel."),
        (
            NOT_KNOWN,
            "In s3 it is not known whether states hold. The log does not say which state 2 "
            "processes recorded.",
        ),
    ]
    links = subject("log", {"orphan": 1}, worst, 0).sentences[0].evidence
    assert [(one.kind, one.name) for one in links][:2] == [("snapshot", "s3"), ("workbench", "s3")]


def test_consistent_snapshots_are_well():
    good = JudgedSnapshot("s1", "consistent", None)
    assert texts({"consistent": 1}, good, 0) == [(WELL, "The only snapshot, s1, is consistent.")]
    assert texts({"consistent": 3}, good, 0) == [(WELL, "All 3 snapshots are consistent.")]


def test_a_log_without_a_snapshot_says_so():
    assert texts({}, None, 2) == [
        (FACT, "The log records no snapshot, so there is none to judge. Drag a cut of your own."),
        (WATCH, "The log has 2 defects, which may change what is said here."),
    ]


def test_a_snapshot_that_cannot_be_judged_is_not_wrong():
    unsure = JudgedSnapshot("s1", "unknown", "The log has no send for 1 receive.")
    assert texts({"unknown": 1}, unsure, 0) == [
        (NOT_KNOWN, "The only snapshot, s1, is unknown. The log has no send for 1 receive.")
    ]


def test_checkpoints_of_a_dataflow_are_counted_by_what_became_of_them():
    good = JudgedSnapshot("1", "consistent", None)
    reports = [{"status": "completed"}, {"status": "expired"}, {"status": "completed"}]
    found = texts({"consistent": 1}, good, 0, reports)
    assert found[1] == (WATCH, "Of 3 checkpoints 2 completed and 1 expired.")
    assert texts({"consistent": 1}, good, 0, reports[:1])[1][0] == WELL


def test_what_a_reader_found_stands_first():
    found = [
        {"level": "wrong", "text": "The assertion fails: x."},
        {"level": "wrong", "text": "Snapshot 2 is not consistent.", "snapshot": "2"},
    ]
    sentences = tuple(told(found))
    assert [item.evidence[0].name for item in sentences] == [None, "2"]
    shown = texts({}, None, 0, (), sentences)
    assert shown[:2] == [(WRONG, item["text"]) for item in found]
