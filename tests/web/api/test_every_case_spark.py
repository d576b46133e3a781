"""Every checkpoint of Spark is uploaded as it is: the API's answers are what was recorded.

Each time those of ``BY_API`` in tests/each_time.py are, and all in the long run.
"""

import json
import zipfile

import pytest

from tests.each_time import by_api
from tests.readers.engines.spark_streaming.cases import DAMAGED, WRONG_ANSWERS
from tests.web.api import spark_answers
from tests.web.api.agreement import pairs, require_documented
from tests.web.api.evidence import require_evidence
from tests.web.api.uploading import as_it_is, upload

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("data_dir"),
    pytest.mark.spark,
]
CASES = (
    "apply-in-pandas-with-state-hdfs", "commit-log-v3-sink-evolution", "continuous-rate-to-memory",
    "damaged-empty-commit", "damaged-missing-delta", "damaged-no-schema",
    "damaged-truncated-offset", "dedup-watermark-hdfs", "flatmap-groups-with-state-scala",
    "global-agg-no-key", "incident-partial-partitions", "incident-planned-only",
    "incident-recovered", "incident-state-ahead", "join-inner-hdfs", "join-inner-rocksdb-vcf",
    "offset-log-v2-named-sources", "plain-agg-rocksdb-v2", "purged-history", "session-window-hdfs",
    "spark35-window-agg-hdfs", "spark40-tws-pandas", "stateless-file-to-parquet",
    "stateless-rate-to-json", "tws-pandas-ttl", "tws-value-list-map-timers", "union-three-sources",
    "window-agg-hdfs", "window-agg-rocksdb-changelog", "window-agg-rocksdb-full",
)  # fmt: skip
LEFT = {(case, *name.split(" ")) for case, name in WRONG_ANSWERS}


@pytest.mark.parametrize("name", by_api("spark", CASES))
def test_the_api_answers_about_a_checkpoint_what_spark_did(api, ada, shared_data, data_dir, name):
    archive = shared_data / "spark-streaming" / f"{name}.zip"
    with zipfile.ZipFile(archive) as opened:
        expected = json.loads(opened.read(f"{name}/expected.json"))
        sizes = {one.filename: one.file_size for one in opened.infolist() if not one.is_dir()}
    uploaded = upload(api, as_it_is(archive))
    recording = uploaded.get()
    assert (recording["format"], recording["defects_total"]) == ("spark-streaming", 0)
    if expected["schema"] == DAMAGED:
        expected_facts = spark_answers.expected_facts_of_damaged(expected)
        facts = spark_answers.api_facts_of_damaged(uploaded)
    else:
        expected_facts = spark_answers.expected_facts(expected)
        facts = spark_answers.api_facts(uploaded, expected)
    differing = require_documented(name, pairs(expected_facts, facts))
    assert {(name, *where) for where, _, _ in differing} <= LEFT
    assert {path: one["bytes"] for path, one in uploaded.files.items()} == sizes
    assert not list((data_dir / "store").glob("*.tmp*"))
    require_evidence(uploaded, ada)
