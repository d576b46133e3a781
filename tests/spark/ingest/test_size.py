"""A store takes few bytes."""

import pytest

from bench.jobs import BYTES_AN_EVENT, STORE_AGAINST_UPLOAD, bytes_of, to_parquet
from bench.recordings import write_log
from tests.spark.ingest.test_pieces import ingested_here

pytestmark = pytest.mark.slow


def test_a_store_takes_few_bytes_an_event_and_beside_its_upload(tmp_path):
    lines, upload, store = (tmp_path / name for name in ("log.jsonl", "log.parquet", "store"))
    write_log(lines, 110_000)
    to_parquet(lines, upload)
    manifest = ingested_here(upload, store).manifest
    assert manifest.levels["time"]  # a recording of this size also has the overview
    stored = bytes_of(store)
    assert stored / manifest.counts["events"] <= BYTES_AN_EVENT
    assert stored / upload.stat().st_size <= STORE_AGAINST_UPLOAD
