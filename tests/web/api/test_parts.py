"""Parts of a cut and of a snapshot over HTTP: together they are the whole, and each counts all."""

import pytest
from pydantic import TypeAdapter

from snapshots.payloads import cuts
from tests.builders import a_run, side_by_side, simulated
from tests.web.given import a_ready_recording, post_json

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def transfers(ada):
    return a_ready_recording(ada, simulated(snapshots=((8_000, ("p1",)), (20_000, ("p2",)))))


def checked(answer, declared) -> dict:
    assert answer.status_code == 200, answer.content
    TypeAdapter(declared).validate_python(answer.json(), strict=False)
    return answer.json()


def asked(api, row, call: str, **part) -> dict:
    """Return the answer about a snapshot or a cut, all of it or a part."""
    address = f"/api/recordings/{row.pk}/{call}"
    if call == "cuts":
        return checked(post_json(api, address, {"step": 150, **part}), cuts.CutAnswer)
    return checked(api.get(address, part), cuts.SnapshotDetail)


def filled(answer: dict) -> dict:
    recorded = answer.get("recorded", answer)["channels"]
    return {n: v for n, v in answer["channels"].items() if v or recorded.get(n)}


@pytest.mark.parametrize("call", ["snapshots/s1", "cuts"])
def test_parts_are_together_what_the_whole_is(api, transfers, call):
    whole = asked(api, transfers, call)
    assert whole.get("part") is None
    assert len(filled(whole)) > 1
    states, positions, channels, page = {}, {}, {}, {}
    for first in range(20):
        page = asked(api, transfers, call, limit=1, first_process=first, first_channel=first)
        states |= page.get("processes", page.get("states"))
        positions |= page["positions"]
        channels |= page["channels"]
    assert positions == whole["positions"]
    assert states == whole.get("processes", whole.get("states"))
    assert list(channels) == list(filled(whole))
    part = page["part"]
    assert part["processes"] == 4
    assert part["channels"] == len(channels)
    silent = len(whole["channels"]) - len(channels)
    assert part["empty_channels"] + part["unknown_channels"] == silent


@pytest.mark.parametrize("call", ["snapshots/s1", "cuts"])
def test_the_messages_of_a_channel_come_in_pages(api, transfers, call):
    whole = asked(api, transfers, call)
    for channel, values in whole["channels"].items():
        pages = [
            asked(api, transfers, call, limit=1, channel=channel, first_message=first)
            for first in range(len(values) + 1)
        ]
        assert [value for page in pages for value in page["channels"][channel]] == values
        ids = [name for page in pages for name in page["messages"][channel]]
        assert ids == whole["messages"][channel]
        for page in pages:
            omitted = page["omitted"] if call == "cuts" else page["part"]["omitted"]
            listed = len(page["channels"][channel])
            assert omitted.get(channel, 0) == len(values) - listed
            assert page["positions"] == {}


def test_the_nearest_cut_of_a_part_has_the_listed_processes(api, transfers):
    positions = {"p1": 40}
    address = f"/api/recordings/{transfers.pk}/cuts"
    whole = post_json(api, address, {"positions": positions}).json()
    part = post_json(api, address, {"positions": positions, "limit": 2}).json()
    assert whole["consistent"] is part["consistent"] is False
    nearest = whole["nearest"]["positions"]
    assert part["nearest"]["positions"] == dict(list(nearest.items())[:2])


REFUSED = (
    ({"limit": 0}, 422),
    ({"limit": 501}, 422),
    ({"limit": "x"}, 422),
    ({"limit": 1, "first_process": -1}, 422),
    ({"limit": 1, "first_message": 3}, 422),
    ({"first_channel": 3}, 422),
    ({"channel": "p1->p2"}, 422),
    ({"limit": 1, "channel": "none"}, 404),
)


@pytest.mark.parametrize(("part", "status"), REFUSED, ids=str)
@pytest.mark.parametrize("call", ["snapshots/s1", "cuts"])
def test_a_part_that_makes_no_sense_is_refused(api, transfers, call, part, status):
    address = f"/api/recordings/{transfers.pk}/{call}"
    if call == "cuts":
        answer = post_json(api, address, {"step": 150, **part})
    else:
        answer = api.get(address, part)
    assert answer.status_code == status, answer.content
    assert status == 404 or answer.json()["field"] in part


def test_a_channel_of_another_scope_is_not_in_a_snapshot(api, ada):
    row = a_ready_recording(ada, side_by_side(simulated(), a_run().record("p", "s").log()))
    address = f"/api/recordings/{row.pk}/snapshots/1 s1"
    answer = api.get(address, {"limit": 1, "channel": "2 p->q"})
    assert answer.status_code == 404
    assert answer.json()["detail"] == "The channel “2 p->q” does not belong to this snapshot."
