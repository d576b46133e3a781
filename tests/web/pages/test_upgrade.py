"""The page and the call that hold a checkpoint against a new job."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from snapshots.jobs import running
from snapshots.models import Recording
from tests.web.given import a_client, a_person, post_json, text_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def data(shared_data):
    return shared_data / "flink-upgrade"


@pytest.fixture
def savepoint(api, data) -> Recording:
    content = (data / "savepoints/base/canonical/_metadata").read_bytes()
    answer = api.post("/api/recordings", {"file": SimpleUploadedFile("_metadata", content)})
    running.run(answer.json()["job"])
    return Recording.objects.get(pk=answer.json()["id"], status="ready")


@pytest.mark.spark
def test_a_savepoint_is_held_against_a_new_job(savepoint, api, data, client):
    call = f"/api/recordings/{savepoint.pk}/contents/0/upgrade"
    renamed = json.loads((data / "uid-renamed/uids.json").read_text())
    body = post_json(api, call, {"job": renamed}).json()
    assert (body["without_allow"], body["with_allow"]) == ("refused", "started-with-loss")
    assert sorted(body["lost_with_allow"]) == ["account.acct", "account.history"]
    refused = post_json(api, call, {"job": [{"uid": 3}]})
    assert (refused.status_code, refused.json()["field"]) == (422, "[0].uid")
    assert post_json(api, call, {"job": renamed, "backend": "heap"}).status_code == 422
    assert post_json(api, f"{call[:-9]}7/upgrade", {"job": renamed}).status_code == 404
    stranger = a_client(a_person("eve@example.org"))
    assert post_json(stranger, call, {"job": renamed}).status_code == 404

    own = api.get(call).json()["job"]
    body = post_json(api, call, {"job": own}).json()
    assert (body["without_allow"], body["unknown"]) == ("restored", [])
    assert stranger.get(call).status_code == 404
    nodes = {"nodes": [{"id": 1, "type": "count", "parallelism": 1}]}
    asked = {"job": nodes, "no_uids": True}
    (said, *_) = post_json(api, call, asked).json()["notes"]
    assert "It was said that" in said

    page = f"/recordings/{savepoint.pk}/contents/0/upgrade"
    assert page in text_of(client.get(f"/recordings/{savepoint.pk}/contents/0"))
    assert "Hold it against the new job" in text_of(client.get(page))
    assert "&quot;uid&quot;: &quot;account&quot;" in text_of(client.get(f"{page}?own"))
    ticked = text_of(client.post(page, {"job": json.dumps(nodes), "no_uids": "on"}))
    assert "It was said that" in ticked
    assert 'name="no_uids" checked' in ticked
    shown = text_of(client.post(page, {"job": json.dumps(renamed), "backend": ""}))
    assert 'name="no_uids" checked' not in shown
    assert "Not without allowNonRestoredState" in shown
    assert "with the uid account it would claim the state" in shown
    file = SimpleUploadedFile("uids.json", (data / "identical/uids.json").read_bytes())
    assert "every state comes back" in text_of(client.post(page, {"file": file}))
    wrong = text_of(client.post(page, {"job": "[{]"}), 422)
    assert "must be JSON" in wrong
    assert "<script>" not in text_of(client.post(page, {"job": '["<script>"]'}), 422)
