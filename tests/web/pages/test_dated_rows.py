"""Rows of a timeline say when it was in the world where the log tells, and nothing where not."""

from dataclasses import replace

import pytest

from snapshots.domain.simulators.samples import two_banks
from snapshots.domain.simulators.script import Log
from snapshots.readers import recognition
from snapshots.readers.logs.raft_trace import RaftTraceReader
from snapshots.reviews import entries, incidents, timeline
from snapshots.web import incidents as shown
from tests.readers.inputs import read, source, text
from tests.readers.logs.test_raft_trace import receive, send
from tests.web.given import a_ready_recording, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]

AT_0 = 1_795_188_546_004  # 2026-11-20 15:29:06.004 UTC


def a_trace(tmp_path) -> Log:
    """Return what the reader makes of a trace of Raft that begins in 2024."""
    lines = [send(at=0.001), receive(at=0.0035)]
    header, events, _ = read(source(tmp_path, text(*lines), "trace.ndjson"))
    return Log(header, tuple(events))


def two_banks_with(extra=(), **fields) -> Log:
    log = two_banks()
    return log._replace(header=replace(log.header, extra=dict(extra), **fields))


def shifted(log: Log, by: int) -> Log:
    return log._replace(events=tuple(replace(each, at=each.at + by) for each in log.events))


def a_row(person, log: Log, **fields):
    recording = a_ready_recording(person, log)
    entry = entries.write(person, recording, {"text": "B lost it", **fields})
    review = incidents.open_review(person, person, {"title": "Orders were lost"})
    incidents.add_exhibit(person, review, recording)
    return review, timeline.add_entry(person, review, entry.pk)


def moment_of(person, log: Log, **fields) -> str | None:
    _, row = a_row(person, log, **fields)
    [item] = shown.rows_of(person, [row])
    return item["moment"]


def test_a_log_with_dates_gives_a_row_its_time_of_day(client, ada, tmp_path):
    review, row = a_row(ada, a_trace(tmp_path), place="event:2:0")
    [item] = shown.rows_of(ada, [row])
    assert (item["at"], item["moment"]) == (2_500, "2024-04-05T15:08:49.503Z")
    page = text_of(client.get(f"/reviews/{review.pk}"))
    assert "2024-04-05 15:08:49.503 UTC</time>" in page
    document = text_of(client.get(f"/reviews/{review.pk}/post-mortem?format=html"))
    assert "2.5 ms in the system (2024-04-05 15:08:49.503 UTC)" in document


def test_a_log_of_a_further_format_has_dates(ada, tmp_path, monkeypatch):
    class FurtherReader(RaftTraceReader):
        name, key = "further", "further"

    monkeypatch.setattr(recognition, "READERS", {"further": FurtherReader()})
    header, events, _ = read(source(tmp_path, text(send()), "trace.ndjson"))
    assert "raft" not in header.extra
    log = Log(header, tuple(events))
    assert moment_of(ada, log, place="event:1:0") == "2024-04-05T15:08:49.500Z"


def test_times_since_1970_are_dates(ada):
    log = shifted(two_banks(), AT_0 * 1000)
    assert moment_of(ada, log, at=AT_0 * 1000 + 5_200) == "2026-11-20T15:29:06.009Z"


@pytest.mark.parametrize(
    "extra",
    [
        {},
        {"mapped": {"began_at_us": 5}},
        {"raft": {"began_at_us": "soon"}},
        {"epoch": AT_0},
        {"derived": True},
    ],
    ids=str,
)
def test_a_log_without_dates_gives_none(client, ada, extra):
    review, row = a_row(ada, two_banks_with(extra), at=5_200)
    [item] = shown.rows_of(ada, [row])
    assert (item["when"], item["moment"]) == ("5.2 ms", None)
    assert "The time of day in the log" not in text_of(client.get(f"/reviews/{review.pk}"))


def test_a_unit_that_is_no_unit_of_time_has_no_dates(ada):
    assert moment_of(ada, shifted(two_banks_with(time_unit="step"), AT_0 * 1000), at=1) is None


@pytest.mark.parametrize(
    ("place", "moment"),
    [
        ("moment:time:5200", "2026-11-20T15:29:06.009Z"),
        ("snapshot:s1", "2026-11-20T15:29:06.011Z"),
        ("event:B:2", None),
        ("cut:A=3:B=1", None),
    ],
)
def test_a_time_that_cutline_gave_to_an_event_of_an_engine_is_no_date(ada, place, moment):
    log = two_banks_with({"derived": True, "epoch": AT_0})
    assert moment_of(ada, log, place=place) == moment


def test_a_time_that_a_person_gave_to_a_row_is_dated_too(ada):
    review, row = a_row(ada, two_banks_with({"derived": True, "epoch": AT_0}), place="event:B:2")
    row = timeline.change(ada, review, row.pk, {"at": 96_000}, row.changed_in)
    assert shown.rows_of(ada, [row])[0]["moment"] == "2026-11-20T15:29:06.100Z"


def test_the_date_is_not_known_where_the_recording_cannot_be_opened(ada, tmp_path):
    _, row = a_row(ada, a_trace(tmp_path), place="event:2:0")
    row.entry.recording.status = "failed"
    assert shown.rows_of(ada, [row])[0]["moment"] is None
