"""The figure of a run's events in one order."""

from snapshots.web.figures import order


def event(kind: str, process: str, message: str | None = None, *, pre: bool = False):
    named = {"channel": "c", "message": message} if message else {"label": "<work>"}
    return {"kind": kind, "process": process, "prerecording": pre, **named}


PAPER = {
    "events": [
        event("send", "p", "M"),
        event("send", "q", "N", pre=True),
        event("receive", "q", "M"),
    ],
    "start": {"processes": {"p": 0, "q": 0}},
}


def test_sends_meet_receives_of_the_same_id_in_order_and_ends_outside_are_none():
    run = [
        event("receive", "p", "a"),
        event("send", "p", "b"),
        event("send", "p", "b"),
        event("receive", "p", "b"),
    ]
    assert order.messages_of(run) == [(None, 0), (1, 3), (2, None)]


def test_swaps_are_counted():
    assert order.swaps_of(PAPER["events"]) == 1
    pre = [False, True, False, False, True, True, False, True]
    assert order.swaps_of([{"prerecording": each} for each in pre]) == 11
    assert order.swaps_of([{"prerecording": True}, {"prerecording": False}]) == 0


def test_events_stand_in_their_columns_and_messages_lead_from_lane_to_lane():
    figure = order.figure(PAPER, 1)
    inside, across, pre, post = figure["data"]
    assert (inside["x"], inside["y"]) == ([1, 3, None], [0, 1, None])
    assert (across["x"], across["y"]) == ([2, 3.6, None], [1, 1.3, None])
    assert (pre["x"], pre["y"], pre["text"]) == ([2], [1], ["e1"])
    assert post["meta"] == [0, 2]
    assert figure["layout"]["xaxis"]["dtick"] == 1
    assert figure["layout"]["shapes"][0]["x0"] == 1.5
    assert figure["layout"]["annotations"][0]["text"] == "recorded state"
    assert not order.figure(PAPER, None)["layout"]["shapes"]


def test_labels_are_no_markup_and_many_events_have_no_names():
    run = {"events": [event("internal", "p")] * 61, "start": {"processes": {}}}
    [dots] = order.figure(run, None)["data"]
    assert dots["hovertext"][0] == "e0: internal &lt;work&gt;<br>postrecording"
    assert dots["mode"] == "markers"


def test_of_many_processes_those_that_act_have_lanes():
    start = {"processes": dict.fromkeys(f"p{n}" for n in range(20))}
    assert order.lanes_of({"events": [event("internal", "p7")], "start": start}) == ["p7"]
    assert len(order.lanes_of({"events": [], "start": start})) == 20
