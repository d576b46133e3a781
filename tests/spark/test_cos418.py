"""The Spark jobs find the expected snapshots of the COS 418 cases, to the token."""

import gzip
import json
from pathlib import Path

import pytest

from snapshots.store.reader import StoredRecording
from tasks.spark.judge.job import judge_snapshots
from tests.spark.agreement import agree, ingested, silent

ORIGINALS = (
    "2nodes-simple",
    "2nodes-message",
    "3nodes-bidirectional-messages",
    "8nodes-sequential-snapshots",
)
RANDOM = "random/r50-random-s1"
CASES = (*(f"original/{name}" for name in ORIGINALS), RANDOM)
RECORDING = ("channel_record_start", "channel_record_stop")


def log_of(data: Path, case: str) -> Path:
    if case == RANDOM:
        return data / "cos418" / case / "log.jsonl.gz"
    return data / "cos418" / f"{case}.log.jsonl"


def answers_of(data: Path, case: str) -> list[Path]:
    if case == RANDOM:
        return sorted((data / "cos418" / case / "snapshots").glob("*.snap"))
    folder, name = (data / "cos418" / case).parent, Path(case).name
    return sorted(folder.glob(f"{name}.snap")) or sorted(folder.glob(f"{name}[0-9].snap"))


def expected(path: Path) -> tuple[str, dict[str, int], dict[str, list[int]]]:
    """Return the snapshot's id, tokens by process, and tokens in each channel that holds some."""
    name, *lines = path.read_text().split("\n")
    states: dict[str, int] = {}
    channels: dict[str, list[int]] = {}
    for words in filter(None, map(str.split, lines)):
        if len(words) == 2:
            states[words[0]] = int(words[1])
        else:
            amount = int(words[2].removeprefix("token(").removesuffix(")"))
            channels.setdefault(f"{words[0]}->{words[1]}", []).append(amount)
    return name.strip(), states, channels


def stored(folder: Path, snapshot: str) -> tuple[dict[str, int], dict[str, list[int]]]:
    """Return what the store has recomputed for a snapshot."""
    found = StoredRecording.open(folder).snapshot(snapshot)
    states = {name: json.loads(state.recomputed) for name, state in found.states.items()}
    channels = {
        name: [json.loads(message.value) for message in channel.recomputed]
        for name, channel in found.channels.items()
        if channel.recomputed
    }
    return states, channels


def without_channel_records(source: Path, target: Path) -> Path:
    """Remove from the log what arrived while channels were recorded."""
    opened = gzip.open if source.suffix == ".gz" else open
    with opened(source, "rt") as lines:
        kept = [line for line in lines if json.loads(line)["kind"] not in RECORDING]
    target.write_text("".join(kept))
    return target


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("recorded", [True, False], ids=["as logged", "without channel records"])
def test_every_snapshot_is_the_expected_one(spark, shared_data, tmp_path, case, recorded):
    source = log_of(shared_data, case)
    if not recorded:
        source = without_channel_records(source, tmp_path / "log.jsonl")
    ingested(source, tmp_path / "store", spark)
    reports = judge_snapshots(tmp_path / "store", silent, spark)
    answers = answers_of(shared_data, case)
    assert [report.verdict for report in reports] == ["consistent"] * len(answers)
    for answer in answers:
        name, states, channels = expected(answer)
        assert stored(tmp_path / "store", name) == (states, channels)
        if recorded:
            report = next(report for report in reports if report.snapshot == name)
            assert {
                name: json.loads(state) for name, state in report.recorded_states.items()
            } == states


@pytest.mark.parametrize("case", CASES)
def test_spark_and_the_reference_agree(spark, shared_data, tmp_path, case):
    agree(log_of(shared_data, case), tmp_path, spark)
