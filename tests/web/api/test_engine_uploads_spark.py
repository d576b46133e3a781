"""Checkpoints of Spark are uploaded through the API, ingested by the real job, and asked about."""

import io
import zipfile
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from snapshots.jobs import running
from snapshots.models import Recording
from snapshots.readers.engines.spark_streaming.adapter import entries
from tests.web.api.uploading import as_it_is, upload
from tests.web.given import signed_in, text_of
from tests.web.pages.test_snapshot import words

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("data_dir"),
    pytest.mark.spark,
]

LOG = Path(__file__).parents[2] / "data" / "logs" / "spark-4.3-failed-and-resumed.zip"


@pytest.fixture
def uploaded(api, shared_data):
    """Return a function that uploads a case and returns the recording."""
    return lambda name: upload(api, as_it_is(shared_data / "spark-streaming" / f"{name}.zip"))


def pages_of(name: str):
    """Return the words of the pages below a case's recording."""
    recording = Recording.objects.get(name=f"{name}.zip")
    client = signed_in(recording.owner)
    return lambda path, **query: words(
        text_of(client.get(f"/recordings/{recording.pk}{path}", query))
    ).replace("&quot;", '"')


def test_the_time_of_batches_is_shown_by_phases(uploaded):
    name = "window-agg-hdfs"
    get = uploaded(name)
    first = get("/contents")["checkpoints"][0]
    assert (first["phases"]["addBatch"], first["phases"]["triggerExecution"]) == (1439, 1938)
    shown = pages_of(name)
    assert "Where the time went" in shown("/contents")
    batches = shown("/checkpoints")
    assert "12 batches" in batches
    assert "addBatch: 162 ms" in batches
    assert "2026-11-20 15:26:33" in batches
    assert batches.count("addBatch 162 ms") == 1, "the longest phase"
    assert "cp_trigger" not in batches


@pytest.mark.long
def test_the_sums_of_a_state_are_shown_by_fields_and_checked(uploaded):
    name = "tws-value-list-map-timers"
    get, shown = uploaded(name), pages_of(name)
    assert get("/failovers")["sinks"] == []
    states = {state["name"]: state for state in get("/contents/9")["operators"][0]["states"]}
    assert states["total"]["sums"] == {"amount": 587, "events": 24}
    events = 'processes["transformWithStateInPySparkExec"]["total"]["events"]'
    summed = shown("/contents/9")
    assert "state timers: points in time" in summed
    assert "3,429,043,474,400" not in summed
    assert f"state total.events 24 {events}" in summed
    assert "It is 24. To check it, compare it" in shown("/contents/9", check=events)
    assert "No. The expression is false in the recorded state: 24 == 25." in shown(
        "/contents/9", check=f"{events} == 25"
    )


def test_where_no_report_has_the_time_of_batches_the_page_says_so(uploaded):
    name = "damaged-missing-delta"
    uploaded(name)
    shown = pages_of(name)
    assert "Where the time went" not in shown("/contents")
    page = shown("/checkpoints")
    assert "no progress report of the query is in the upload" in page
    assert "cp_trigger" not in page
    assert "0 checkpoints" not in page


def test_a_batch_that_was_planned_and_never_committed_is_in_flight(uploaded, data_dir):
    get = uploaded("incident-planned-only")
    recording = get()
    assert (recording["status"], recording["format"]) == ("ready", "spark-streaming")
    assert recording["defects_total"] == 0
    assert get.verdicts == {
        **dict.fromkeys(["0", "1", "2"], "unknown"),
        "3": "incomplete",
    }

    contents = get("/contents")
    told = [(one["id"], one["kind"], one["status"]) for one in contents["checkpoints"]]
    assert told == [(n, "batch", "completed") for n in range(3)] + [(3, "batch", "in progress")]
    flying = get("/contents/3")
    planned = flying["planned"]
    assert planned == contents["checkpoints"][3]["planned"]
    assert (planned["kind"], planned["rows"], planned["files"]) == ("planned-only", 7, 1)
    assert [source["files"] for source in planned["sources"]] == [["c03.json"]]
    assert "no partition wrote its state" in planned["how_far"]
    assert flying["settings"]["spark.sql.shuffle.partitions"] == "2"
    assert not any(fact["name"].startswith("spark.sql") for fact in flying["facts"])

    state = {"operator": "0", "state": "default"}
    assert [get(f"/contents/{n}/entries", **state)["total"] for n in range(3)] == [3, 3, 6]
    assert not list((data_dir / "store").glob("*.tmp*"))


def test_the_state_after_a_batch_is_what_was_recorded(uploaded):
    get = uploaded("window-agg-hdfs")
    assert get.verdicts == dict.fromkeys(map(str, range(12)), "unknown")
    detail = get("/contents/11")
    (operator,) = detail["operators"]
    (state,) = operator["states"]
    assert (operator["name"], state["kind"], state["entries"]) == ("stateStoreSave", "store", 6)
    assert (state["type"], state["complete"]) == ("(window, user) → (count, sum)", True)
    rows = get("/contents/11/entries", operator="0", state="default", containing="ana")["items"]
    assert rows[-1]["key"] == {
        "window": {"start": 1714521660000, "end": 1714521680000},
        "user": "ana",
    }
    assert rows[-1]["value"] == {"count": 3, "sum": 108}
    counts = get("/contents/9/compare/10", operator="0", state="default")["counts"]
    assert (counts["removed"], counts["added"], counts["unknown"]) == (0, 3, 0)
    assert counts["same"] + counts["changed"] == 3

    topology = get("/topology")
    names = [process["id"] for process in topology["processes"]]
    assert names == [
        *["source 0[0]", "stateStoreSave[0]", "stateStoreSave[1]", "sink[0]", "coordinator"]
    ]
    snapshot = get("/snapshots/11")
    assert snapshot["processes"] == {"source 0[0]": {"offset": {"logOffset": 5}}}
    assert set(snapshot["positions"]) == set(names)
    assert Recording.objects.get().event_count == 162


@pytest.mark.parametrize("beside", ["nothing", "the log of a driver"])
def test_all_batches_have_their_state_once_somebody_asked_for_it(
    api, shared_data, monkeypatch, beside
):
    monkeypatch.setattr(entries, "MOST_ENTRIES", 0)
    name = "window-agg-hdfs"
    package = io.BytesIO((shared_data / "spark-streaming" / f"{name}.zip").read_bytes())
    if beside != "nothing":
        with zipfile.ZipFile(package, "a") as target, zipfile.ZipFile(LOG) as log:
            target.writestr("driver.log", log.read("driver.log"))
    get = upload(api, SimpleUploadedFile(f"{name}.zip", package.getvalue()))
    assert batches_read(get) == range(7, 12)
    button = "Read the state of all batches"
    assert button in pages_of(name)("/contents")

    asked = api.post(f"/api/recordings/{get.id}/ingest?whole_state=true")
    running.run(asked.json()["job"])

    assert batches_read(get) == range(12)
    assert button not in pages_of(name)("/contents")


def batches_read(get) -> range:
    """Return the batches of which entries of state are stored."""
    details = [get(f"/contents/{number}")["operators"][0] for number in range(12)]
    own = [number for number, one in enumerate(details) if one["states"]]
    return range(own[0], own[-1] + 1)
