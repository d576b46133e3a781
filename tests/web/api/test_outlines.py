"""Outlines of cuts and snapshots: positions and depths of everything, and rows by their codes."""

import base64

import numpy as np
import pytest

from tests.builders import a_run, simulated
from tests.web.given import a_ready_recording, post_json

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
CALLS = ("snapshots/s1", "cuts")


@pytest.fixture
def transfers(ada):
    return a_ready_recording(ada, simulated(snapshots=((8_000, ("p1",)), (20_000, ("p2",)))))


def asked(api, row, call: str, *, status: int = 200, **part) -> dict:
    """Return the answer about a snapshot or a cut, all of it or a part."""
    address = f"/api/recordings/{row.pk}/{call}"
    if call == "cuts":
        answer = post_json(api, address, {"step": 150, **part})
    else:
        answer = api.get(address, part)
    assert answer.status_code == status, answer.content
    return answer.json()


def column(packed: dict) -> list[int]:
    return np.frombuffer(base64.b64decode(packed["bdata"]), packed["dtype"]).tolist()


def names(api, row, kind: str) -> list[str]:
    return [item["id"] for item in api.get(f"/api/recordings/{row.pk}/topology").json()[kind]]


@pytest.mark.parametrize("call", CALLS)
def test_an_outline_has_the_positions_of_all_processes(api, transfers, call):
    whole = asked(api, transfers, call)
    part = asked(api, transfers, call, outline=True, process_codes="", channel_codes="")
    positions = dict(
        zip(names(api, transfers, "processes"), column(part["outline"]["positions"]), strict=True)
    )
    assert positions == whole["positions"]
    assert part["positions"] == part["channels"] == {}


def test_an_outline_of_a_cut_counts_the_messages_of_all_channels(api, transfers):
    whole = asked(api, transfers, "cuts")
    outline = asked(api, transfers, "cuts", outline=True)["outline"]
    depths = {name: len(values) for name, values in whole["channels"].items() if values}
    channels = names(api, transfers, "channels")
    listed = [channels[code] for code in column(outline["channels"])]
    assert dict(zip(listed, column(outline["depths"]), strict=True)) == depths
    assert outline["messages"] == sum(depths.values())
    assert outline["hidden_channels"] == 0
    assert outline["in_processes"] + outline["in_channels"] == whole["total"]
    assert outline["in_processes"] == sum(whole["states"].values())


def test_an_outline_of_an_inconsistent_cut_has_the_nearest_one(api, transfers):
    question = {"step": None, "positions": {"p1": 40}}
    whole = asked(api, transfers, "cuts", **question)
    outline = asked(api, transfers, "cuts", **question, outline=True)["outline"]
    assert column(outline["nearest"]) == list(whole["nearest"]["positions"].values())


def test_an_outline_of_a_snapshot_counts_both_sides(api, transfers):
    whole = asked(api, transfers, "snapshots/s1")
    outline = asked(api, transfers, "snapshots/s1", outline=True)["outline"]
    channels = names(api, transfers, "channels")
    listed = [channels[code] for code in column(outline["channels"])]
    for side in ("recorded", "recomputed"):
        counts = dict(zip(listed, column(outline[side]), strict=True))
        assert counts == {name: len(whole[side]["channels"][name]) for name in listed}
    silent = set(channels) - set(listed)
    assert listed
    sides = whole["channels"], whole["recorded"]["channels"]
    assert not any(side[name] for name in silent for side in sides)
    instants = whole["recorded_at"].values()
    assert outline["recorded_between"] == [min(instants), max(instants)]


@pytest.mark.parametrize("call", CALLS)
def test_rows_are_asked_for_by_their_codes(api, transfers, call):
    whole = asked(api, transfers, call)
    states = whole.get("processes", whole.get("states"))
    for code, name in enumerate(names(api, transfers, "channels")):
        part = asked(api, transfers, call, process_codes="1,2", channel_codes=str(code))
        assert part["channels"] == {name: whole["channels"][name]}
        assert part["messages"] == {name: whole["messages"][name]}
        if call != "cuts":
            assert part["recorded"]["channels"][name] == whole["recorded"]["channels"][name]
        found = part.get("processes", part.get("states"))
        assert found == {name: states[name] for name in ("p2", "p3")}


def test_an_outline_keeps_the_fullest_channels(api, transfers, monkeypatch):
    monkeypatch.setattr("snapshots.payloads.outlines.MOST_OUTLINED", 1)
    whole = asked(api, transfers, "cuts")
    outline = asked(api, transfers, "cuts", outline=True)["outline"]
    depths = [len(values) for values in whole["channels"].values() if values]
    assert column(outline["depths"]) == [max(depths)]
    assert outline["hidden_channels"] == len(depths) - 1
    assert outline["messages"] == sum(depths)


@pytest.mark.parametrize("codes", ["x", "1,,2", "-1", "1.5", "99", ",".join(map(str, range(501)))])
@pytest.mark.parametrize("field", ["process_codes", "channel_codes"])
@pytest.mark.parametrize("call", CALLS)
def test_codes_that_make_no_sense_are_refused(api, transfers, call, field, codes):
    assert asked(api, transfers, call, status=422, **{field: codes})["field"] == field


LONG = "x" * 1_048_576


@pytest.fixture
def heavy(ada):
    run = a_run().internal("p", "a", state=LONG).internal("q", "b", state=LONG)
    run = run.send("p->q", "m", LONG)
    return a_ready_recording(ada, run.record("p", "s").record("q", "s").log())


HEAVY = (
    "window",
    "snapshots/s?limit=100",
    "snapshots/s?outline=true",
    "events/p/0",
    "events/p/1",
    "search?query=xxxx",
)


@pytest.mark.parametrize("call", HEAVY)
def test_a_long_value_does_not_make_an_answer_long(api, heavy, call):
    answer = api.get(f"/api/recordings/{heavy.pk}/{call}")
    assert answer.status_code == 200, answer.content
    assert b"$excerpt" in answer.content
    assert b'"$bytes":1048578' in answer.content
    assert len(answer.content) < 600_000


@pytest.mark.parametrize("step", [2, 3])
def test_a_part_of_a_cut_has_long_values_shortened(api, heavy, step):
    address = f"/api/recordings/{heavy.pk}/cuts"
    answer = post_json(api, address, {"step": step, "limit": 100})
    assert b'"$bytes":1048578' in answer.content
    assert len(answer.content) < 600_000


def test_the_whole_event_is_had_on_request(api, heavy):
    whole = api.get(f"/api/recordings/{heavy.pk}/events/p/0", {"whole": "true"})
    assert whole.json()["state"] == LONG
