"""The inventory of a real checkpoint on pages and in the API: a bank's money, partly in
channels."""

import io
import zipfile
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from snapshots.jobs import running
from snapshots.models import Recording
from tests.web.given import a_client, a_person, a_ready_recording, signed_in, text_of

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("data_dir"),
    pytest.mark.spark,
]

INVARIANT = (
    '8000 - processes["withdraw"]["balance"] == '
    'processes["deposit"]["credited"] + channels["withdraw -> deposit"][2]'
)


def packed(folder: Path) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as target:
        for part in ("files", "rest"):
            for path in sorted((folder / part).rglob("*")):
                if path.is_file():
                    target.write(path, path.relative_to(folder).as_posix())
    return archive.getvalue()


@pytest.fixture
def bank(api, shared_data) -> Recording:
    content = packed(shared_data / "flink" / "bank-unaligned")
    answer = api.post("/api/recordings", {"file": SimpleUploadedFile("bank.zip", content)})
    running.run(answer.json()["job"])
    recording = Recording.objects.get(pk=answer.json()["id"])
    assert recording.status == "ready", recording.error
    return recording


def test_a_banks_money_is_in_its_states_and_in_its_channels(bank, api, ada):
    base = f"/api/recordings/{bank.pk}/contents"
    upload = api.get(base).json()
    assert (upload["engine"], bank.format) == ("flink", "flink")
    assert [item["id"] for item in upload["checkpoints"]] == [1, 2]
    assert upload["checkpoints"][1]["in_flight"] == 96_294
    files = api.get(f"{base}/files").json()
    assert files["total"] == upload["files"] == len(files["items"])
    assert [item["path"] for item in files["items"] if item["reason"]] == []

    second = api.get(f"{base}/1").json()
    states = {
        (operator["name"], state["name"]): state
        for operator in second["operators"]
        for state in operator["states"]
    }
    assert states["withdraw", "balance"]["sum"] == -6520
    assert states["deposit", "credited"]["sum"] == 5268
    channels = {(item["source"], item["target"]): item for item in second["channels"]}
    channel = channels["withdraw[1]", "deposit[1]"]
    assert (channel["buffers"], channel["bytes"], channel["elements"]) == (11, 36_894, 1118)

    asked = f"{base}/1/channels/{channel['number']}"
    found = api.get(asked, {"type": "tuple<string,string,long>", "limit": 500}).json()
    assert found["total"] == 1118
    assert found["suggested"] == ["tuple<string,string,long>"]
    assert found["items"][0]["value"][2] > 0
    assert found["items"][0]["timestamp"] is None
    refused = api.get(asked, {"type": "tuple<string,long>"})
    assert (refused.status_code, refused.json()["field"]) == (422, "type")
    assert "Not every record" in refused.json()["detail"]
    assert api.get(asked, {"type": "tuple<"}).status_code == 422
    assert api.get(f"{base}/1/channels/99").status_code == 404

    withdraw = next(item["id"] for item in second["operators"] if item["name"] == "withdraw")
    entries = f"{base}/1/entries"
    balance = {"operator": withdraw, "state": "balance"}
    listed = api.get(entries, balance).json()
    assert listed["total"] == 8
    assert sum(item["value"] for item in listed["items"]) == -6520
    assert api.get(entries, {**balance, "q": "acc-3"}).json()["total"] == 1
    assert api.get(entries, {**balance, "state": "none"}).status_code == 404
    compared = api.get(f"{base}/0/compare/1", balance).json()
    assert sum(compared["counts"].values()) == 8
    assert compared["counts"]["changed"] > 0
    assert compared["notes"] == []

    change = api.get(f"{base}/0/difference/1").json()
    assert (change["before"], change["after"]) == (1, 2)
    assert change["in_flight"] == {"before": 49_137, "after": 96_294}
    changed = {item["name"]: item for item in change["operators"]}["withdraw"]
    assert (changed["change"], changed["moved"]) == ("changed", 0)
    assert {state["name"]: state["counts"] for state in changed["states"]}["balance"] == (
        compared["counts"]
    )
    assert change["totals"]["both"]["files"] == 0
    assert api.get(f"{base}/0/difference/7").status_code == 404

    plan = api.get(f"{base}/1/restore-plan", {"parallelism": 3}).json()
    own = {item["name"]: item for item in plan["operators"]}["withdraw"]
    assert [item["key_groups"] for item in own["after"]] == [[0, 5], [6, 10], [11, 15]]
    assert sum(item["bytes"] for item in own["after"]) == sum(
        item["bytes"] for item in own["before"]
    )
    assert plan["problems"] == []
    edges = {(item["source"], item["target"]): item for item in plan["edges"]}
    edge = edges["withdraw", "deposit"]
    assert (edge["exchange"], edge["filtered"], edge["problem"]) == ("HASH", True, None)
    assert [(item["first"], item["last"]) for item in edge["receivers"]] == [
        (0, 0),
        (0, 1),
        (1, 1),
    ]
    assert sum(item["bytes"] for item in plan["edges"]) == 96_294
    [source] = plan["read_again"]
    assert source["name"] == "Source: requests"
    [positions] = source["positions"]
    assert positions["items"][0]["value"]["hex"]
    assert [item["name"] for item in plan["written_again"]] == ["deposit"]
    kept = {"parallelism": 3, "keep": [source["operator"]]}
    again = api.get(f"{base}/1/restore-plan", kept).json()
    assert again["kept"] == [source["operator"]]
    wrong = api.get(f"{base}/1/restore-plan", {"parallelism": 3, "keep": ["x"]})
    assert wrong.status_code == 422
    assert api.get(f"{base}/1/restore-plan", {"parallelism": 17}).json()["problems"]
    assert api.get(f"{base}/1/restore-plan", {"parallelism": 0}).status_code == 422
    assert api.get(f"{base}/7").status_code == 404

    page = signed_in(ada)
    assert page.get(f"/recordings/{bank.pk}").url == f"/recordings/{bank.pk}/answer"
    assert "bank-unaligned" in text_of(page.get(f"/recordings/{bank.pk}/contents"))
    one = f"/recordings/{bank.pk}/contents/1"
    shown = text_of(page.get(one, {"check": INVARIANT, "channel": channel["number"]}))
    assert "The expression is true in the recorded state: 14,520 == 14,520." in shown
    assert "-6,520" in shown
    assert "9,252" in shown
    assert "the only likely type that fits every record" in shown
    off = text_of(page.get(one, {"check": INVARIANT.replace("8000", "8001")}))
    assert "The expression is false in the recorded state: 14,521 == 14,520." in off
    alone = text_of(page.get(one, {"check": 'processes["withdraw"]["balance"]'}))
    assert "It is -6,520." in alone
    wrong = text_of(page.get(one, {"check": 'channels["withdraw -> deposit"]["2"] == 1'}))
    assert "An item of a list is named by its number, as in [2], not by a text." in wrong
    assert 'id="check-error"' in text_of(page.get(one, {"check": "processes["}))
    assert 'id="type-error"' in text_of(page.get(one, {"channel": "0", "type": "text,"}))
    with_entries = {"operator": withdraw, "state": "balance", "with": "0"}
    assert "changed" in text_of(page.get(one, with_entries))
    planned = text_of(page.get(f"{one}/restore-plan", {"parallelism": "3"}))
    for words in ("largest", "plan-picture", "withdraw → deposit", "At most", "taken to be a sink"):
        assert words in planned
    shown = text_of(page.get(f"{one}/difference"))
    keys = f"{compared['counts']['changed']} changed"
    for words in ("since", "Key groups that differ", keys):
        assert words in shown
    assert page.get(f"{one}/difference", {"since": "9"}).status_code == 404
    assert 'id="parallelism-error"' in text_of(
        page.get(f"{one}/restore-plan", {"parallelism": "many"}), 422
    )
    for address in (f"{one}0", f"{one}?channel=x", f"{one}?operator=a&state=b"):
        assert page.get(address).status_code == 404

    stranger = signed_in(a_person("eve@example.org"))
    assert stranger.get(one).status_code == 404
    assert a_client(a_person("mallory@example.org")).get(base).status_code == 404


def test_a_log_has_no_inventory(api, ada):
    recording = a_ready_recording(ada)
    answer = api.get(f"/api/recordings/{recording.pk}/contents")
    assert answer.status_code == 404
    assert "is a log" in answer.json()["detail"]
