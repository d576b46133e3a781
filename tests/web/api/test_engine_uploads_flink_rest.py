"""Single answers of Flink's REST API go through the API, the real job, and every page of them."""

import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tests.stack import ROOT
from tests.web.api.evidence import require_evidence
from tests.web.api.uploading import upload
from tests.web.given import signed_in

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.spark,
    pytest.mark.usefixtures("data_dir"),
]

DATA = ROOT / "tests/data/flink-rest"
PAGES = ("answer", "contents", "checkpoints", "replay", "snapshots")


@pytest.mark.parametrize(
    ("package", "name", "says"),
    [
        ("failed-before-first", "job.json", "the job had failed"),
        ("running", "checkpoints.json", "The last checkpoint that ended, 7, completed"),
        ("off", None, "the job triggers no checkpoints by itself"),
        ("archives", None, "no checkpoint completed"),
    ],
)
def test_answers_without_checkpoints_have_all_pages(api, ada, package, name, says):
    path = DATA / f"{package}.zip"
    content, called = path.read_bytes(), path.name
    if name is not None:
        with zipfile.ZipFile(path) as opened:
            content, called = opened.read(name), name
    uploaded = upload(api, SimpleUploadedFile(called, content))
    require_evidence(uploaded, ada)
    subjects = uploaded.get("/answer")["subjects"]
    assert says in " ".join(one["text"] for each in subjects for one in each["sentences"])
    assert uploaded.get("/contents")["engine"] == "flink"
    browser = signed_in(ada)
    for page in PAGES:
        assert browser.get(f"/recordings/{uploaded.id}/{page}").status_code < 500, page
