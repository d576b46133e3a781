"""The lists of snapshots: all of them, or page by page, whole or in brief."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pydantic import TypeAdapter

from snapshots.payloads.recordings import BriefSnapshotList, SnapshotList
from tests.builders import a_run, simulated
from tests.web.given import a_ready_recording

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]

STARTS = tuple((2_000 * number, ("p1",)) for number in range(1, 6))


@pytest.fixture
def five(ada):
    return a_ready_recording(ada, simulated(snapshots=STARTS))


def listed(api, address: str, declared=SnapshotList) -> dict:
    answer = api.get(address)
    assert answer.status_code == 200, answer.content
    TypeAdapter(declared).validate_python(answer.json(), strict=False)
    return answer.json()


@pytest.mark.parametrize("call", ["snapshots", "snapshots-in-brief"])
def test_pages_follow_each_other_and_have_each_snapshot_once(api, five, call):
    address = f"/api/recordings/{five.pk}/{call}"
    names, after = [], ""
    while after is not None:
        page = listed(
            api,
            f"{address}?limit=2{after and f'&after={after}'}",
            BriefSnapshotList if "brief" in call else SnapshotList,
        )
        assert page["total"] == 5
        assert len(page["items"]) <= 2
        names += [item["snapshot"] for item in page["items"]]
        after = page["next"]
    assert names == list(five.snapshots.values_list("snapshot", flat=True))


def test_without_a_limit_all_snapshots_are_listed_as_before(api, five):
    page = listed(api, f"/api/recordings/{five.pk}/snapshots")
    assert [len(page["items"]), page["total"], page["next"]] == [5, 5, None]
    assert all(item["positions"] for item in page["items"])


def test_a_snapshot_in_brief_says_what_the_whole_one_says(api, five):
    address = f"/api/recordings/{five.pk}/snapshots"
    whole = listed(api, address)["items"]
    brief = listed(api, f"{address}-in-brief", BriefSnapshotList)["items"]
    for item, short in zip(whole, brief, strict=True):
        assert short.pop("answers") == {one["question"]: one["answer"] for one in item["answers"]}
        assert short.pop("recorded") == len(item["positions"])
        assert short.pop("events") == sum(item["positions"].values())
        assert short == {name: item[name] for name in short}


def test_a_cut_that_passes_not_everywhere_has_no_number_of_events(api, ada):
    run = a_run().send("p->q", "m1").record("p", "s").log()
    row = a_ready_recording(ada, run)
    address = f"/api/recordings/{row.pk}/snapshots-in-brief"
    [short] = listed(api, address, BriefSnapshotList)["items"]
    assert [short["recorded"], short["events"]] == [1, None]


@pytest.mark.parametrize("call", ["snapshots", "snapshots-in-brief"])
def test_a_page_after_a_snapshot_that_does_not_exist_is_refused(api, five, call):
    answer = api.get(f"/api/recordings/{five.pk}/{call}?after=none")
    assert answer.status_code == 404
    assert "no snapshot 'none'" in answer.json()["detail"]


@pytest.mark.parametrize("limit", ["0", "501", "x"])
def test_a_limit_beyond_its_bounds_is_refused(api, five, limit):
    assert api.get(f"/api/recordings/{five.pk}/snapshots?limit={limit}").status_code == 422


@pytest.mark.parametrize("call", ["snapshots", "snapshots-in-brief"])
def test_a_list_asks_the_database_as_often_for_five_as_for_one(api, five, call):
    counts = []
    for limit in (1, 1, 5):  # the first use of a token is noted
        with CaptureQueriesContext(connection) as made:
            answer = api.get(f"/api/recordings/{five.pk}/{call}?limit={limit}")
        assert len(answer.json()["items"]) == limit
        counts.append(len(made))
    assert counts[1] == counts[2]
