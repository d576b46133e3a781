"""Every log of ShiViz is uploaded as it is: the API's counts are those of ShiViz."""

import json
from pathlib import Path

import pytest

from tests.web.api import shiviz_answers
from tests.web.api.agreement import pairs, require_documented
from tests.web.api.uploading import as_it_is, upload

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("data_dir"),
    pytest.mark.spark,
]
LOGS = ("simple-reliable-broadcast", "facebook-multiple", "simpledb", "chord", "slack-execution1")


@pytest.fixture
def case(shared_data):
    """Return the entry of the manifest by the name of its log, with its path."""
    folder = shared_data / "shiviz"
    manifest = json.loads((folder / "manifest.json").read_text())
    return lambda name: next(
        one | {"path": folder / one["file"]} for one in manifest if Path(one["file"]).stem == name
    )


@pytest.mark.parametrize("name", LOGS)
def test_the_api_answers_about_a_log_what_shiviz_does(api, case, name):
    log, compared = case(name), []
    several = len(log["executions"]) > 1
    for execution in log["executions"]:
        form = {"format": f"shiviz:{execution['execution']}"} if several else {}
        uploaded = upload(api, as_it_is(log["path"]), **form)
        recording = uploaded.get()
        assert (recording["format"].partition(":")[0], recording["defects_total"]) == ("shiviz", 0)
        facts = shiviz_answers.api_facts(uploaded)
        compared += pairs(shiviz_answers.expected_facts(execution), facts, execution["execution"])
        assert uploaded.verdicts == {}
    assert require_documented(name, compared) == []


def test_a_log_of_several_executions_is_refused_with_their_names(api, case):
    answer = api.post("/api/recordings", {"file": as_it_is(case("facebook-multiple")["path"])})
    assert (answer.status_code, answer["content-type"]) == (422, "application/problem+json")
    assert answer.json()["type"] == "/problems/several-executions"
    assert '"Execution #1", "Execution #2"' in answer.json()["detail"]
