"""Every cos418 case is uploaded to a running stack: its snapshots are those that its authors
expect."""

import gzip
from collections import defaultdict
from pathlib import Path

import pytest

from tests.webapp.over_http import Api

pytestmark = [pytest.mark.spark, pytest.mark.slow]

CASES = {
    "original/2nodes-simple": "original/2nodes-simple.snap",
    "original/2nodes-message": "original/2nodes-message.snap",
    "original/3nodes-bidirectional-messages": "original/3nodes-bidirectional-messages.snap",
    "original/8nodes-sequential-snapshots": "original/8nodes-sequential-snapshots?.snap",
    "random/r50-random-s1": "random/r50-random-s1/snapshots/*.snap",
}


@pytest.fixture(scope="module")
def api(stack):
    return Api(stack)


@pytest.fixture
def cos418(shared_data) -> Path:
    return shared_data / "cos418"


def log_of(folder: Path, case: str) -> bytes:
    if case.startswith("original/"):
        return (folder / f"{case}.log.jsonl").read_bytes()
    [log] = (folder / case).glob("log.jsonl*")
    return log.read_bytes()


def expected(snap: Path) -> tuple[str, dict, dict]:
    """Return the snapshot's id, tokens by process, and the contents of each channel that is not
    empty."""
    first, *lines = snap.read_text().splitlines()
    states: dict[str, int] = {}
    channels: dict[str, list[int]] = defaultdict(list)
    for words in (line.split() for line in lines if line.strip()):
        if len(words) == 2:
            states[words[0]] = int(words[1])
        else:
            channels["->".join(words[:2])].append(int(words[2][len("token(") : -1]))
    return first.strip(), states, dict(channels)


def check(api: Api, recording: int, snaps: list[Path]) -> None:
    items = api.get(f"/recordings/{recording}/snapshots")["items"]
    listed = {item["snapshot"]: item for item in items}
    assert len(listed) == len(snaps) > 0
    for snap in snaps:
        name, states, channels = expected(snap)
        assert listed[name]["verdict"] == "consistent", listed[name]["verdicts"]
        found = api.get(f"/recordings/{recording}/snapshots/{name}")
        assert found["processes"] == states
        assert {name: values for name, values in found["channels"].items() if values} == channels
        topology = api.get(f"/recordings/{recording}/topology")
        assert found["channels"].keys() == {channel["id"] for channel in topology["channels"]}
        assert found["totals"]["total"] == found["totals"]["start"]


@pytest.mark.parametrize("case", CASES)
def test_a_case_gives_the_snapshots_of_its_authors(api, cos418, case):
    recording = api.ingested(log_of(cos418, case), Path(case).name)
    assert api.get(f"/recordings/{recording}")["format"] == "cos418"
    check(api, recording, sorted(cos418.glob(CASES[case])))


@pytest.mark.parametrize("case", CASES)
def test_a_case_gives_them_also_without_what_the_protocol_recorded_of_channels(api, cos418, case):
    log = log_of(cos418, case)
    text = gzip.decompress(log) if log[:2] == b"\x1f\x8b" else log
    lines = [line for line in text.splitlines() if b"channel_record_" not in line]
    assert len(lines) < len(text.splitlines())
    recording = api.ingested(b"\n".join(lines) + b"\n", Path(case).name)
    check(api, recording, sorted(cos418.glob(CASES[case])))
