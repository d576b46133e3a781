"""Every case of SeaTunnel is uploaded as it is: the API's answers are the expected ones."""

import json
import zipfile

import pytest

from tests.web.api import seatunnel_answers
from tests.web.api.agreement import pairs, require_documented
from tests.web.api.evidence import require_evidence
from tests.web.api.uploading import as_it_is, upload

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("data_dir"),
    pytest.mark.spark,
]
COUNTS = {
    "real-wire-vectors": (6, 12),
    "synthetic-fake-to-localfile": (7, 80),
    "synthetic-two-pipelines-idle-reader": (17, 96),
}
"""Processes and events of the derived recording."""
DURATIONS = {
    "2 (pipeline 1)": 204_000,
    "3 (pipeline 1)": 38_000,
    "4 (pipeline 1)": 89_000,
    "1 (pipeline 2)": 317_000,
    "2 (pipeline 2)": 306_000,
}


@pytest.mark.parametrize("name", COUNTS)
def test_the_api_answers_about_a_case_what_its_files_hold(api, ada, shared_data, data_dir, name):
    archive = shared_data / "seatunnel" / f"{name}.zip"
    with zipfile.ZipFile(archive) as opened:
        files = json.loads(opened.read(f"{name}/expected.json"))["files"]
    files = [file | {"path": f"{name}/{file['path']}"} for file in files]
    uploaded = upload(api, as_it_is(archive))
    recording = uploaded.get()
    assert (recording["format"], recording["defects_total"]) == ("seatunnel", 0)
    assert not list((data_dir / "store").glob("*.tmp*"))
    counts = recording["counts"]
    assert (counts["processes"], counts["events"]) == COUNTS[name]
    facts = seatunnel_answers.api_facts(uploaded, files)
    compared = pairs(seatunnel_answers.expected_facts(files), facts)
    assert require_documented(name, compared) == []

    checkpoints = uploaded.contents.checkpoints
    assert len(checkpoints) == len(files)
    assert uploaded.files.keys() == {file["path"] for file in files} | {f"{name}/expected.json"}
    assert set(uploaded.verdicts.values()) == {"unknown"}
    durations = {
        one["checkpoint"]: one["duration"] for one in uploaded.get("/checkpoints")["items"]
    }
    assert durations.keys() == {one.snapshot or str(one.id) for one in checkpoints}
    with_states = {one.snapshot or str(one.id) for one in checkpoints if one.operators}
    assert uploaded.verdicts.keys() == with_states
    if name == "synthetic-two-pipelines-idle-reader":
        assert durations == DURATIONS
    require_evidence(uploaded, ada)
