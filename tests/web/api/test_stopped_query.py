"""The checkpoint of a query that was stopped in the middle of a batch is uploaded."""

import pytest

from tests.spark.engine_state.stopped_query import query_stopped
from tests.web.api.uploading import upload, zipped
from tests.web.given import a_client, a_person

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("data_dir"),
    pytest.mark.spark,
]


@pytest.mark.parametrize("before_writing", [True, False])
def test_the_batch_in_flight_and_the_state_before_it_are_shown(spark, tmp_path, before_writing):
    folder = query_stopped(spark, tmp_path / "stopped", before_writing)
    uploaded = upload(a_client(a_person()), zipped(folder, "checkpoint", "input"))

    told = uploaded.get("/contents")["checkpoints"]
    assert [one["status"] for one in told] == ["completed", "completed", "in progress"]
    assert uploaded.verdicts["2"] == "incomplete"
    planned = uploaded.get("/contents/2")["planned"]
    (source,) = planned["sources"]
    assert (source["rows"], source["files"]) == (3, ["2.json"])
    (state,) = planned["written"]
    assert (state["wrote"], state["lacking"]) == ((0, 2) if before_writing else (2, 0))
    assert _totals(uploaded, 0) == {"ana": (2, 4), "bo": (1, 2)}
    assert _totals(uploaded, 1) == {"ana": (3, 14), "bo": (1, 2), "cyd": (1, 20)}


def _totals(uploaded, number: int) -> dict[str, tuple[int, int]]:
    entries = uploaded.entries(number)
    return {one.key["user"]: (one.value["count"], one.value["sum"]) for one in entries}
