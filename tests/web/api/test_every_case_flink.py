"""Every case of Flink is uploaded like a user does: the API's answers are the expected ones.

Each time those of ``BY_API`` in tests/each_time.py are, and all in the long run.
"""

import pytest

from tests.each_time import by_api
from tests.readers.engines.flink.cases import CASES, LEGACY
from tests.readers.engines.flink.engine import folder_of
from tests.web.api import flink_rest_answers
from tests.web.api.agreement import pairs, require_documented
from tests.web.api.evidence import require_evidence
from tests.web.api.flink_answers import answers
from tests.web.api.uploading import upload, zipped

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("data_dir"),
    pytest.mark.spark,
]
PARTS = ("files", "rest-before", "rest")
NOT_DECODED = {"v_kryo", "v_poly"}  # states whose values Kryo wrote, or of a class not described


@pytest.mark.parametrize("name", by_api("flink", [*CASES, *LEGACY]))
def test_the_api_answers_about_a_case_what_flink_does(api, ada, shared_data, name):
    folder = folder_of(shared_data, name)
    uploaded = upload(api, zipped(folder, *PARTS))
    recording = uploaded.get()
    assert (recording["format"], recording["defects_total"]) == ("flink", 0)
    details = flink_rest_answers.flink_details(folder)
    compared = pairs(
        flink_rest_answers.expected_facts(details, uploaded),
        flink_rest_answers.api_facts(details, uploaded),
    )
    for answer in answers(uploaded, folder):
        compared += pairs(answer.expected_facts, answer.api_facts, answer.number)
    differing = require_documented(name, compared)
    assert {where[4] for where, _, _ in differing} <= NOT_DECODED
    assert {found for _, _, found in differing} <= {"not read"}

    sizes = {
        path.relative_to(folder).as_posix(): path.stat().st_size
        for part in PARTS
        for path in (folder / part).rglob("*")
        if path.is_file()
    }
    assert {path: one["bytes"] for path, one in uploaded.files.items()} == sizes
    _require_snapshots(uploaded)
    require_evidence(uploaded, ada)


def _require_snapshots(uploaded) -> None:
    """Require a snapshot for each checkpoint, without verdicts, with the recorded state of each
    subtask."""
    checkpoints = uploaded.contents.checkpoints
    assert uploaded.verdicts.keys() == {one.snapshot or str(one.id) for one in checkpoints}
    for one in checkpoints:
        verdict = uploaded.verdicts[one.snapshot or str(one.id)]
        assert verdict == "unknown" or (verdict == "incomplete" and one.status != "completed")
