"""Files of Flink are uploaded through the API, ingested by the real job, and asked about."""

import json
from pathlib import Path

import pytest

from snapshots.domain.dataflow_logs.checkpoints.reference import checkpoints
from snapshots.domain.model.as_json import members_as_json
from snapshots.models import Recording
from tests.readers.engines.flink.engine import derived
from tests.web.api.uploading import Uploaded, as_it_is, upload, zipped
from tests.web.given import signed_in, text_of
from tests.web.pages.test_snapshot import words

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("data_dir"),
    pytest.mark.spark,
]


@pytest.fixture
def uploaded(api, shared_data):
    """Return a function that uploads parts of a case, or a file, and returns the recording."""

    def ready(name: str, *parts: str, file: str | None = None) -> Uploaded:
        folder = shared_data / "flink" / name
        if file is None:
            return upload(api, zipped(folder, *(parts or ("files", "rest"))))
        (path,) = folder.glob(file)
        return upload(api, as_it_is(path))

    return ready


def expected(shared_data: Path, name: str) -> list[dict]:
    return json.loads((shared_data / "flink" / name / "expected.json").read_text())["snapshots"]


def operator(checkpoint: dict, name: str) -> str:
    (found,) = (one["id"] for one in checkpoint["operators"] if one["name"] == name)
    return found


def total(get, number: int, name: str, state: str) -> tuple[int, int]:
    """Return the number of a state's entries and the sum of their values."""
    place = {"operator": operator(get(f"/contents/{number}"), name), "state": state}
    items = get(f"/contents/{number}/entries", **place, limit=500)["items"]
    return len(items), sum(item["value"] for item in items)


def amounts_in(get, number: int, channel: dict) -> list[int]:
    """Return the amounts of the transfers in a channel, read page by page."""
    path, items = f"/contents/{number}/channels/{channel['number']}", []
    while len(items) < channel["elements"]:
        found = get(path, type="tuple<string,string,long>", offset=len(items), limit=500)
        assert found["total"] == channel["elements"]
        items += found["items"]
    return [item["value"][2] for item in items]


def test_in_the_bank_the_missing_money_is_in_the_channels(uploaded, shared_data, data_dir):
    get = uploaded("bank-unaligned")
    recording = get()
    assert (recording["status"], recording["format"]) == ("ready", "flink")
    assert recording["defects_total"] == 0
    assert get.verdicts == {"1": "unknown", "2": "unknown"}
    for number, snapshot in enumerate(expected(shared_data, "bank-unaligned")):
        money = snapshot["money"]
        count, balances = total(get, number, "withdraw", "balance")
        _, credited = total(get, number, "deposit", "credited")
        detail = get(f"/contents/{number}")
        flying = 0
        for channel in detail["channels"]:
            if channel["source"].startswith("withdraw"):
                flying += sum(amounts_in(get, number, channel))
        assert (1000 * count - balances, credited, flying) == (
            money["withdrawn"], money["deposited"], money["inFlight"],
        )  # fmt: skip
        shown = get(f"/snapshots/{snapshot['checkpointId']}")["recorded"]["channels"]
        amounts = [
            value[2] for name, own in shown.items() if name.startswith("withdraw") for value in own
        ]
        assert 1000 * count - balances == credited + sum(amounts)
    (store,) = (data_dir / "store").iterdir()
    kept = {path.name for path in (store / "contents").iterdir()}
    assert kept == {
        "upload.json", "checkpoint-0.json", "checkpoint-1.json", "entries.arrow", "channels.arrow",
        "types.arrow", "bytes-0.json", "bytes-1.json", "check.json", "check-0.json", "check-1.json",
        "reports.json",
    }  # fmt: skip


def test_failures_have_the_times_of_the_rest_api(uploaded, shared_data):
    get = uploaded("failures")
    found = {one["checkpoint"]: one for one in get("/checkpoints", limit=100)["items"]}
    folder = shared_data / "flink" / "failures" / "rest"
    for number in range(1, 15):
        told = json.loads((folder / f"checkpoint-{number}.json").read_text())
        assert found[str(number)]["duration"] == told["end_to_end_duration"]
    reference = checkpoints(derived(shared_data, "failures").recording)
    assert list(found.values()) == [members_as_json(one, without=("tasks",)) for one in reference]
    assert found["8"]["critical_path"][0]["earlier"] == "7"
    assert get("/failovers")["sinks"] == []
    assert found["3"]["status"] == "expired"
    assert found["2"]["reason"] == "Asynchronous task checkpoint failed"
    slow = {task["process"]: task for task in get("/checkpoints/4")["tasks"]}["slow-sink[0]"]
    (path,) = folder.glob("checkpoint-4-subtasks-df7a*.json")
    one = json.loads(path.read_text())["subtasks"][0]
    assert (slow["start_delay"], slow["alignment"]) == (
        one["start_delay"],
        one["alignment"]["duration"],
    )
    judged = get.verdicts
    assert [judged[str(number)] for number in (1, 2, 3, 4)] == [
        "unknown", "incomplete", "unknown", "unknown",
    ]  # fmt: skip
    files = get("/contents/files", limit=500)["items"]
    assert all(file["role"] in ("_metadata", "answer of the REST API") for file in files)
    topology = get("/topology")
    assert len(topology["processes"]) == 11

    recording = Recording.objects.get(name="failures.zip")
    pages, address = signed_in(recording.owner), f"/recordings/{recording.pk}/checkpoints"
    listed = words(text_of(pages.get(address)))
    assert "2026-11-20 16:32:15.100 UTC the recording begins" in listed
    assert "2026-11-20 16:32:23.103 UTC at 8.003 s" in listed
    assert "which do not show the results at the sinks" in listed
    assert "Visible twice" not in listed
    shown = words(text_of(pages.get(address, {"checkpoint": "8"})))
    assert "Completed 2026-11-20 16:32:23.816 UTC" in shown
    assert "slow-sink[0] was still copying its state for checkpoint 7, and took up no" in shown
    assert "at first still copying for checkpoint 7" in shown
    assert "Given up 2026-11-20 16:32:16.017 UTC" in words(
        text_of(pages.get(address, {"checkpoint": "2"}))
    )
    summed = words(text_of(pages.get(f"/recordings/{recording.pk}/contents/0")))
    assert 'state amountByProduct.apple 160 processes["enrich"]["amountByProduct"]["apple"]' in (
        summed.replace("&quot;", '"')
    )
    for gone in ("state rules-offset: positions", "state lastRate: single readings"):
        assert gone in summed
    assert "state orderCount 44" in summed


def test_states_of_two_checkpoints_are_compared(uploaded):
    get = uploaded("rescaled", "files", "rest", "rest-before")
    contents = get("/contents")
    stored = [
        number for number, one in enumerate(contents["checkpoints"]) if one["path"] is not None
    ]
    place = {"operator": operator(get(f"/contents/{stored[0]}"), "enrich"), "state": "orderCount"}
    before, after = (get(f"/contents/{n}/entries", **place)["total"] for n in stored[:2])
    counts = get(f"/contents/{stored[0]}/compare/{stored[1]}", **place)["counts"]
    assert counts["same"] + counts["changed"] + counts["removed"] == before
    assert counts["same"] + counts["changed"] + counts["added"] == after
    assert counts["changed"] > 0 == counts["unknown"]


def test_a_metadata_file_alone_is_taken(uploaded):
    get = uploaded("v5-unaligned-bank", file="files/*/chk-1/_metadata")
    assert get()["format"] == "flink"
    (checkpoint,) = get("/contents")["checkpoints"]
    assert (checkpoint["status"], checkpoint["triggered_at"]) == ("completed", None)
    assert checkpoint["missing"] > 0
    assert get.verdicts == {"1": "unknown"}
    assert Recording.objects.get().event_count == len(get("/topology")["processes"])
