"""The pages of an upload that holds progress reports of Spark and no checkpoint."""

import pytest

from snapshots.files import recordings
from snapshots.readers.engines.spark_streaming.adapter.reader import SparkStreamingReader
from snapshots.store.inventory.writing import write_inventory
from tests.answers.test_spark_progress_answer import REPORTS, lines, opened
from tests.web.given import a_client, a_ready_recording, signed_in
from tests.web.pages.test_inventory import words

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def test_all_pages_of_reports_alone_answer(ada, tmp_path):
    opened(tmp_path, lines(REPORTS))
    recording = a_ready_recording(ada, format="spark-streaming")
    upload = SparkStreamingReader().read(tmp_path / "files")
    write_inventory(recordings.store().folder(recording.store), upload)
    page = signed_in(ada)
    address = f"/recordings/{recording.pk}"
    assert "3 progress reports of the query" in words(page.get(f"{address}/answer"))
    shown = words(page.get(f"{address}/contents/2"))
    assert "dedupe" in shown
    assert "rows a second that came" in shown
    for path in (
        "contents",
        "contents/0",
        "contents/check",
        "contents/0/check",
        "contents/0/restore-plan",
    ):
        assert page.get(f"{address}/{path}").status_code < 500, path
    api = a_client(ada)
    for path in ("contents", "contents/0", "answer"):
        assert api.get(f"/api{address}/{path}").status_code == 200, path
