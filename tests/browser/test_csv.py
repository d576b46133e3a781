"""The CSV files of charts, for a log whose names and states are formulas of a spreadsheet."""

import csv
import io
import json
from pathlib import Path

import pytest

from tests.browser.test_workbench import wait_until_drawn
from tests.webapp.over_http import Api

FORMULAS = "=1+1", "+A1", "-A1", "@SUM(A1)", "\tA1"


def hostile_log() -> bytes:
    names = ["=HYPERLINK(1)", "@B"]
    header = {
        "kind": "header",
        "format": "cutline",
        "version": 1,
        "name": "formulas",
        "processes": [{"id": name, "state": 0} for name in names],
        "channels": [{"id": "+link", "source": names[0], "target": names[1]}],
    }
    states = [*FORMULAS, -5]
    events = [{"kind": "internal", "process": names[0], "state": state} for state in states]
    send = {"kind": "send", "process": names[0], "channel": "+link", "message": "m", "state": 0}
    recorded = [
        {"kind": "record_state", "process": name, "snapshot": "s", "state": 0} for name in names
    ]
    return b"\n".join(json.dumps(line).encode() for line in [header, *events, send, *recorded])


@pytest.fixture(scope="module")
def recording(stack) -> int:
    return Api(stack).ingested(hostile_log())


@pytest.fixture
def cells(recording, page):
    """Return a function that downloads a chart's CSV and returns its rows."""
    page.goto(f"/recordings/{recording}")
    wait_until_drawn(page)

    def download(panel: str) -> list[list[str]]:
        section = page.locator(f"[data-panel={panel}]")
        section.get_by_label("Download this chart").click()
        with page.expect_download() as saved:
            section.get_by_role("button", name="Download as CSV").click()
        text = Path(saved.value.path()).read_bytes().decode()
        return list(csv.reader(io.StringIO(text, newline="")))

    return download


@pytest.mark.parametrize("panel", ["spacetime", "depth", "topology"])
def test_no_cell_of_a_chart_begins_as_a_formula(cells, panel):
    rows = cells(panel)
    texts = [cell for row in rows for cell in row if not is_number(cell)]
    assert any(cell == "'+link" for cell in texts)
    assert not [cell for cell in texts if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]


def test_states_keep_their_text_and_numbers_stay_numbers(cells):
    head, *rows = cells("spacetime")
    kind, state = head.index("kind"), head.index("state after")
    states = [row[state] for row in rows if row[kind] in ("internal", "send")]
    assert states == [*(f"'{formula}" for formula in FORMULAS), "-5", "0"]


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
