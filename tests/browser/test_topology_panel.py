"""The topology panel of the workbench: operators, names in boxes, values, the legend."""

import json

import pytest
from playwright.sync_api import expect

from tests.browser.test_workbench import banks, open_view, until_plotly_has_drawn
from tests.webapp.over_http import Api
from tests.webapp.serving import wait_until

__all__ = ["banks"]

MAPS = 16
RECORDED = 5
TRACES = """() => document.getElementById("wb-topology-marks").data.map(
  ({ mode, x, y, text, marker, line }) => ({
    mode, x: [...x], y: [...y], text: text && [...text], symbol: marker?.symbol, line,
  })
)"""
CIRCLES, SHARES, _FRAMES, INSIDE, NAMES, PHASES, _DOWN, _CONTENTS_FRAMES, CONTENTS = range(9)
BLOCKED, MESSAGES, _MARKERS = range(9, 12)


def a_dataflow() -> bytes:
    """Return a log of two sources, sixteen maps and a sink. Of the maps, five record s1."""
    maps = [f"map[{n}]" for n in range(MAPS)]
    sources = ["source[0]", "source[1]"]
    ends = [*((a, b) for a in sources for b in maps), *((a, "sink[0]") for a in maps)]
    header = {
        **{"kind": "header", "format": "cutline", "version": 1, "name": "a wide map"},
        "time_unit": "us",
        "processes": [{"id": one, "state": 0} for one in (*sources, *maps, "sink[0]")],
        "channels": [{"id": f"{a}->{b}", "source": a, "target": b} for a, b in ends],
    }
    sends = [
        {
            **{"kind": "send", "process": "source[0]", "channel": f"source[0]->{target}"},
            **{"message": f"m{n}", "value": 3 + n, "state": n + 1, "at": 10 + n},
        }
        for n, target in enumerate(maps)
    ]
    records = [
        {"kind": "record_state", "process": one, "snapshot": "s1", "state": 0, "at": 100 + n}
        for n, one in enumerate(maps[:RECORDED])
    ]
    return "\n".join(map(json.dumps, [header, *sends, *records])).encode()


@pytest.fixture(scope="module")
def wide(samples) -> int:
    """Return the number of a recording with more subtasks than fit into the panel."""
    return Api(samples).ingested(a_dataflow(), "wide.jsonl")


@pytest.fixture
def flow(wide, page):
    """Return the drawn workbench of that recording, at its end."""
    open_view(page, f"/recordings/{wide}?t=104&snapshot=s1")
    until_plotly_has_drawn(page)
    return page


def traces(page) -> list[dict]:
    return page.evaluate(TRACES)


def circles(page) -> list[tuple[float, float]]:
    drawn = traces(page)[CIRCLES]
    return list(zip(drawn["x"], drawn["y"], strict=True))


def words(page, trace: int) -> list[str]:
    return [text for text in traces(page)[trace]["text"] if text]


def click(page, x: float, y: float) -> None:
    page.locator("#wb-topology-moving").scroll_into_view_if_needed()
    page.locator("#wb-topology-moving").click(position={"x": x, "y": y})


def the_operator(page) -> tuple[float, float]:
    """Return where the circle of the maps is: the only one in the middle."""
    across = sorted(circles(page))
    return across[len(across) // 2]


def test_an_operator_with_many_subtasks_is_one_circle_that_can_be_opened_and_closed(flow):
    wait_until(lambda: f"×{MAPS}" in words(flow, INSIDE))
    assert len(circles(flow)) == 4, "two sources, the maps, the sink"
    assert f"{RECORDED} of {MAPS} recorded" in words(flow, PHASES)
    assert f"×{MAPS // 2}" not in words(flow, CONTENTS)
    click(flow, *the_operator(flow))
    wait_until(lambda: len(circles(flow)) == 3 + MAPS)
    heading = f"map ×{MAPS} –"
    assert heading in words(flow, NAMES)
    names = traces(flow)[NAMES]
    place = names["text"].index(heading)
    click(flow, names["x"][place], names["y"][place])
    wait_until(lambda: len(circles(flow)) == 4)


def test_the_arc_of_an_operator_is_the_share_that_has_recorded(flow):
    wait_until(lambda: len(traces(flow)[SHARES]["x"]) > 2)
    arc = traces(flow)[SHARES]
    x, y = the_operator(flow)
    assert arc["x"][0] == pytest.approx(x)
    assert arc["y"][0] < y, "it begins at the top"
    last = [place for place in arc["x"] if place is not None][-1]
    assert last > x, "5 of 16 is less than a half, so it ends at the right"


def test_channels_of_an_operator_are_one_line_with_all_that_they_hold(flow):
    wait_until(lambda: words(flow, CONTENTS) == [f"×{MAPS}"])
    canvas = flow.locator("#wb-topology-moving")
    drawn = traces(flow)[_CONTENTS_FRAMES]
    middle = sum(drawn["x"][:4]) / 4, sum(drawn["y"][:4]) / 4
    canvas.hover(position={"x": middle[0], "y": middle[1]})
    expect(canvas).to_have_attribute("title", f"{MAPS} channels, [0] to map: {MAPS} messages")


def test_values_ride_on_messages_and_stand_in_channels_and_circles(banks):
    open_view(banks, f"{banks.url.partition('?')[0]}?t=2900")
    until_plotly_has_drawn(banks)
    wait_until(lambda: words(banks, MESSAGES) == ["1,000"])
    assert words(banks, CONTENTS) == ["1,000"]
    assert set(words(banks, INSIDE)) == {"9,000", "5,000"}
    assert {"A", "B"} <= set(words(banks, NAMES))


def test_the_legend_is_folded_and_stays_so(banks):
    legend = banks.locator("#wb-legend")
    expect(legend.get_by_text("marker")).to_be_visible()
    legend.locator("summary").click()
    expect(legend.get_by_text("marker")).to_be_hidden()
    open_view(banks, banks.url)
    expect(banks.locator("#wb-legend").get_by_text("marker")).to_be_hidden()
    banks.locator("#wb-legend summary").click()
    expect(banks.locator("#wb-legend").get_by_text("marker")).to_be_visible()
