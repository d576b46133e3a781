"""The browser answers for a cut inside its window as the server does (static/js/lib/cuts.js)."""

import subprocess
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.answers import replay
from snapshots.domain.model.recording import SEND
from snapshots.domain.simulators.script import Log
from snapshots.payloads.topologies import topology_of_recording
from snapshots.store.reader import StoredRecording
from snapshots.web.json import dumps
from tests.builders import a_run, recorded, runs
from tests.conftest import skip_or_fail
from tests.damage import relogged
from tests.stack import ROOT
from tests.store.folders import stored
from webapp import machine

CUTS = 6


def without_some_sends(log: Log) -> Log:
    """Return the log of the same run without about a third of its sends."""
    kept = (event for n, event in enumerate(log.events) if event.kind != SEND or n % 3)
    return relogged(log.header, kept)


def a_case(opened: StoredRecording, data: st.DataObject) -> dict[str, Any]:
    """Return a window, and the server's answers for some of the cuts inside it."""
    extent = opened.manifest.extent
    edges = sorted(data.draw(st.integers(extent.from_, extent.to)) for _ in range(2))
    window = replay.window(opened, {"from": edges[0], "to": edges[1]})
    bounds = list(zip(window["positions"], window["positions_to"], strict=True))
    cuts = [[data.draw(st.integers(*ends)) for ends in bounds] for _ in range(CUTS)]
    return {
        "topology": topology_of_recording(opened),
        "window": window,
        "cuts": [replay.cut(opened, {"positions": positions}) for positions in cuts],
    }


def compare(cases: list[dict[str, Any]]) -> None:
    node = machine.find_node()
    if node is None:
        skip_or_fail("Node is missing: make test gets it or says how.")
    ran = subprocess.run(
        [node, "tests/js/server-cuts.js"], cwd=ROOT, input=dumps(cases), capture_output=True
    )
    assert ran.returncode == 0, ran.stderr.decode()[-4000:]


def test_the_browser_judges_any_cut_as_the_server_does():
    cases: list[dict[str, Any]] = []

    @settings(max_examples=25, deadline=None, database=None, derandomize=True)
    @given(log=runs(max_processes=6), lacks_sends=st.booleans(), data=st.data())
    def collect(log, lacks_sends, data):
        with stored(recorded(without_some_sends(log) if lacks_sends else log)) as opened:
            cases.append(a_case(opened, data))

    collect()
    verdicts = {cut["consistent"] for case in cases for cut in case["cuts"]}
    assert verdicts == {True, False, None}
    compare(cases)


def test_a_receive_before_the_window_counts_for_the_cut():
    run = a_run().receive("p->q", "m1", at=10)
    run.internal("p", "later", at=20).receive("p->q", "m2", at=30)
    with stored(recorded(run)) as opened:
        window = replay.window(opened, {"from": 15, "to": 40})
        answers = [replay.cut(opened, {"positions": [1, n]}) for n in (1, 2)]
        assert [answer["strays_total"] for answer in answers] == [1, 2]
        assert window["strays_before"] == 1
        compare([{"topology": topology_of_recording(opened), "window": window, "cuts": answers}])
