"""The picture of who recorded when tells initiators apart and shows names as they are."""

from snapshots.web.figures.recording_times import MOST_NAMED, recording_times

RECORDED = {"<b>A</b>": 2_900, "B": 5_200}


def test_initiators_have_marks_of_their_own_and_names_are_shown_as_they_are():
    initiator, others = recording_times(RECORDED, ["<b>A</b>"], [2_900], "us")["data"]
    assert (initiator["name"], initiator["x"], initiator["y"]) == ("initiator", [2.9], [0])
    assert (others["x"], others["y"]) == ([5.2], [1])
    assert initiator["text"][0] == "&lt;b&gt;A&lt;/b&gt;<br>2.9 ms"


def test_the_axis_has_a_unit_and_a_snapshot_that_did_not_end_has_no_end():
    layout = recording_times(RECORDED, [], [2_900], "us")["layout"]
    assert layout["xaxis"]["title"]["text"].endswith(", ms")
    assert [line["x0"] for line in layout["shapes"]] == [2.9]
    low, high = layout["xaxis"]["range"]
    assert low < 2.9
    assert high > 5.2


def test_a_unit_that_is_not_of_time_stays():
    figure = recording_times(RECORDED, [], [], "ticks")
    assert figure["data"][0]["x"] == [2_900, 5_200]
    assert figure["layout"]["xaxis"]["title"]["text"].endswith(", ticks")


def test_names_that_do_not_fit_are_left_out():
    many = {f"p{number}": number for number in range(MOST_NAMED + 1)}
    assert recording_times(many, [], [], "us")["layout"]["yaxis"]["ticktext"] == []
