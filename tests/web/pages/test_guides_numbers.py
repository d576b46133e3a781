"""Every number in the tours is in the log of its sample."""

import json
from collections import Counter

import pytest

from snapshots.guides import GUIDES
from snapshots.services.gallery import SAMPLES

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def logs():
    return {sample.slug: list(sample.log().events) for sample in SAMPLES}


def text_of(slug: str, number: int) -> str:
    return GUIDES[slug].steps[number].text


def states(events, at: float) -> dict[str, object]:
    """Return the states by process at ``at`` microseconds."""
    found = {}
    for event in events:
        if event.at <= at and event.state is not None:
            found[event.process] = json.loads(event.state)
    return found


def times(events, kind: str, process: str, **facts: object) -> list[float]:
    """Return the instants, in ms, of the events that have these facts."""
    return [
        event.at / 1000
        for event in events
        if (event.kind, event.process) == (kind, process)
        and all(getattr(event, name) == value for name, value in facts.items())
    ]


def recorded_at(events, snapshot: str) -> dict[str, float]:
    """Return the instants, in ms, at which each process recorded."""
    return {
        event.process: event.at / 1000
        for event in events
        if event.kind == "record_state" and event.snapshot == snapshot
    }


def in_flight(events, snapshot: str) -> int:
    """Return how many messages the snapshot's record_channel events hold."""
    return sum(
        len(event.messages or ())
        for event in events
        if event.kind == "record_channel" and event.snapshot == snapshot
    )


def test_the_banks_hold_what_the_tour_counts(logs):
    events = logs["two-banks"]
    assert states(events, 2500) == {"A": 9000, "B": 5000}
    assert "The banks alone hold 14,000" in text_of("two-banks", 1)


def test_the_clocks_miscount_as_the_tour_says(logs):
    events = logs["wall-clock"]
    when = [recorded_at(events, snapshot) for snapshot in ("s1", "s2", "s3")]
    assert when == [{"A": 2, "B": 5}, {"A": 9, "B": 9}, {"A": 12, "B": 13.6}]
    assert "3 ms ahead" in text_of("wall-clock", 0)
    assert "differ by 1.6 ms" in text_of("wall-clock", 3)
    assert states(events, 5000) == {"A": 9000, "B": 6000}
    assert states(events, 9000) == {"A": 9000, "B": 5500}
    assert states(events, 13_600) == {"A": 9300, "B": 5400}
    assert [in_flight(events, snapshot) for snapshot in ("s1", "s2", "s3")] == [0, 0, 1]


def test_fifty_banks_send_and_record_as_the_text_says(logs):
    events = logs["fifty-processes"]
    assert 1150 < Counter(event.kind for event in events)["send"] < 1250
    assert "About 1,200 transfers" in text_of("fifty-processes", 0)
    when = recorded_at(events, "s1")
    assert (min(when, key=when.get), max(when, key=when.get)) == ("p7", "p21")
    assert round(max(when.values()) - when["p7"]) == 15
    assert "After 15 ms all have recorded; p21 is the last" in text_of("fifty-processes", 1)
    assert in_flight(events, "s3") == 47
    assert "in s3 47" in text_of("fifty-processes", 3)


def test_the_smallest_dataflow_counts_as_the_text_says(logs):
    events = logs["smallest-dataflow"]
    assert states(events, 120_350)["task[0]"]["users"] == 119
    assert "counted 119 users. The 19 since" in text_of("smallest-dataflow", 3)
    assert states(events, 130_350)["source[0]"] == {"offset": 101}
    end = states(events, 300_000)["task[0]"]
    assert end == {"users": 200, "times": 200_000}
    assert Counter(event.kind for event in events)["read"] == 220
    assert "20 of them were read twice" in text_of("smallest-dataflow", 5)


def test_barriers_queue_and_block_as_long_as_the_text_says(logs):
    events = logs["back-pressure"]
    first, second = (
        times(events, "marker_receive", "count[1]", snapshot="1", channel=f"source[{n}]->count[1]")
        for n in (0, 1)
    )
    assert [round(at, 1) for at in first + second] == [46.9, 51.2]
    assert "At 46.9 ms" in text_of("back-pressure", 2)
    assert "At 51.2 ms" in text_of("back-pressure", 3)
    (done,) = times(events, "cp_complete", "coordinator", snapshot="1")
    assert (round(done, 1), round(done - 25, 1)) == (53.8, 28.8)
    assert "At 53.8 ms" in text_of("back-pressure", 4)
    assert "28.8 ms after its trigger. For 26 of these" in text_of("back-pressure", 4)
    assert round(second[0] - 25.2) == 26


def test_overtaking_barriers_keep_and_save_what_the_text_says(logs):
    events = logs["overtaking-barriers"]
    assert in_flight(events, "1") == 21
    assert "21 records in four channels" in text_of("overtaking-barriers", 2)
    assert round(recorded_at(events, "1")["count[1]"], 1) == 26.9
    (done,) = times(events, "cp_complete", "coordinator", snapshot="1")
    assert round(done - 25, 1) == 4.3
    assert "4.3 ms after its trigger" in text_of("overtaking-barriers", 3)


def test_at_least_once_counts_three_records_too_many(logs):
    events = logs["counted-twice"]
    end = states(events, 10**9)
    counted = sum(sum(end[f"count[{n}]"].values()) for n in (0, 1))
    records = sum(end[f"source[{n}]"]["offset"] - 1 for n in (0, 1))
    assert (counted, records) == (183, 180)
    assert "counted 183 records, and there are 180" in text_of("counted-twice", 3)
    assert round(recorded_at(events, "1")["count[1]"], 1) == 52.8
    assert "When it records at 52.8 ms" in text_of("counted-twice", 1)


def test_splits_go_out_and_files_are_committed_when_the_text_says(logs):
    events = logs["splits-change-hands"]
    sent = Counter(e.channel for e in events if e.kind == "send" and e.at == 0)
    assert sent == {"orders.enumerator->orders[0]": 2, "orders.enumerator->orders[1]": 1}
    (stored,) = times(events, "cp_complete", "coordinator", snapshot="3")
    committed = set(times(events, "tx_commit", "files.committer", snapshot="3"))
    assert (round(stored, 1), {round(at, 1) for at in committed}) == (17.9, {18.1})
    assert times(events, "crash", "files[0]") == [25]
    assert times(events, "restore", "orders.enumerator") == [0, 35]


def test_a_part_of_a_job_goes_back_when_the_text_says(logs):
    events = logs["only-what-failed"]
    (done,) = times(events, "cp_complete", "coordinator", snapshot="1")
    assert round(done, 1) == 19.4
    assert times(events, "crash", "clean[0]") == [25]
    assert times(events, "crash", "lines[0]") == [43]
    assert times(events, "restore", "orders[0]") == [35, 53]
    skipped = [e for e in events if e.label == "skipped"]
    assert (len(skipped), skipped[-1].at, skipped[-1].process[:5]) == (18, 38_682, "count")
    assert "Those 18 it skips" in text_of("only-what-failed", 3)
    assert "53 lines are there twice" in text_of("only-what-failed", 4)


def test_spark_plans_dies_and_starts_again_when_the_text_says(logs):
    events = logs["uncommitted-batch"]
    plans = [json.loads(event.extra) for event in events if event.kind == "batch_plan"]
    assert [plan["batch"] for plan in plans] == [0, 1, 2, 2, 3]
    assert set(map(tuple, plans[0]["ranges"].values())) == {(1, 21)}
    assert "offsets 1 to 20 of both sources" in text_of("uncommitted-batch", 0)
    assert plans[2]["ranges"] == plans[3]["ranges"]
    assert sum(to - begin for begin, to in plans[2]["ranges"].values()) == 40
    assert "those 40 results twice" in text_of("uncommitted-batch", 4)
    written = Counter(e.process.partition("[")[0] for e in events if e.kind == "write")
    assert written == {"lines": 180, "table": 140}
    assert "passes over the second batch 2" in text_of("uncommitted-batch", 4)


def test_windows_fire_and_drop_what_is_late_when_the_text_says(logs):
    events = logs["late-records"]
    fired = [e for e in events if e.kind == "watermark" and "fired" in json.loads(e.extra)]
    first = next(e for e in fired if e.process == "window[0]")
    assert (first.at // 100, json.loads(first.extra)["watermark"]) == (153, 10_284)
    assert "reaches 10.284 ms" in text_of("late-records", 0)
    late = [e for e in events if e.kind == "late"]
    before = [e for e in late if e.at < 48_000]
    assert {json.loads(e.extra)["window"] for e in before} == {20_000}
    dropped = [json.loads(e.extra)["rid"] for e in before]
    assert len(dropped) == 3
    assert not [e for e in late if e.at > 58_000 and json.loads(e.extra)["rid"] in dropped]
    assert times(events, "crash", "window[0]") == [48]
    (trigger,) = times(events, "cp_trigger", "coordinator", snapshot="2")
    assert trigger == 30
    assert "Windows send 8 results once more, 4 of them" in text_of("late-records", 3)


def test_an_epoch_ends_and_comes_again_when_the_text_says(logs):
    events = logs["uncommitted-epoch"]
    stored = [json.loads(e.extra)["positions"] for e in events if e.kind == "cp_stored"]
    assert set(stored[1].values()) == {21}
    assert "behind offset 20" in text_of("uncommitted-epoch", 0)
    assert times(events, "cp_complete", "coordinator", snapshot="1") == [23.597]
    assert times(events, "crash", "coordinator") == [42.5]
    assert not times(events, "cp_complete", "coordinator", snapshot="2")
    assert stored[2] not in stored[3:]
    shown = Counter(
        tuple(json.loads(e.extra)["rid"])
        for e in events
        if e.kind == "write" and _is_shown(events, e)
    )
    assert sum(count - 1 for count in shown.values()) == 26
    assert "The 26 rows of epoch 2" in text_of("uncommitted-epoch", 3)


def _is_shown(events, write) -> bool:
    """Tell whether the transaction of a write was committed."""
    tx = json.loads(write.extra)["tx"]
    return any(e.kind == "tx_commit" and json.loads(e.extra)["tx"] == tx for e in events)
