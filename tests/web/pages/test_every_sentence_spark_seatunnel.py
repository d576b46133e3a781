"""Every sentence about data in flight, mode, completeness and state of every real case is expected.

Each page of each case is walked. A sentence that the case's expected answer does not lead to fails
as well as one that is missing. What only the API answers about each time, these pages show in the
long run (tests/each_time.py).
"""

import json
import re
from pathlib import Path

import pytest

from snapshots.models import Recording
from snapshots.web.pages import links
from tests.each_time import by_pages
from tests.readers.engines.spark_streaming.cases import DAMAGED, MAIN, unpack
from tests.web.api.test_every_case_seatunnel import COUNTS
from tests.web.api.test_every_case_spark import CASES
from tests.web.engine_uploads import an_upload
from tests.web.sentences import blocks_of, sentences_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]

FURNITURE = re.compile(
    r"Completed|In flight|How far the batch came|Recorded|Recorded at|Markers|Barriers"
    r"|Files missing or damaged|Files that are missing or damaged"
    r"|[\d.,]+ (k|M)?B of the files that are there"
    r"|More on how it was derived|When each process recorded"
    r"|The state of every process, as recorded|Sums of states, and of records in flight|not known"
    r"|commitOffsets|walCommit|commit information|committed|FileAggregatedCommitInfo"
    r"|(.* )?[\d.,]+ (k|M)?B|[\d.,]+ (ms|s|min) inferred: .*"
    r"|[\d,]+ inferred: by a progress report.*|not known (to .*|; .*)|not known; .*"
    r"|[\d,]+ empty timer states? left out\.|.*\.committer|.* incomplete|.* completed point \d+"
    r"|(\d+ incomplete)?\d* ?unknown|incomplete|(checkpoint|vectors)/\S+"
    r"|\d+ of \d+ acknowledged.*|Rebuilds states and channels .*"
    r"|Not known: this recording is derived, and nothing says how many messages were sent .*"
    r"|Derived: the engine keeps no log .*|Not judged: .*|are not known The recording is derived .*"
)
"""Labels, sizes and durations, and what the page of every derived snapshot says alike."""
INFERRED = re.compile(r"(yes|not known|\d+) inferred: (Checkpoint|There is no|A checkpoint is)")
"""What SeaTunnel's files prove of earlier ones; the test looks at the fact itself."""
DRAINED = "A batch is complete only when its tasks have processed all that was sent to them."
CONTINUOUS = (
    "Continuous processing does not wait until its channels are empty, and the files do not say "
    "what was in flight."
)
OPEN = (
    "The batch is not known to be committed, so its tasks may not have processed all that was sent "
    "to them."
)
NOT_TOLD = "The files do not say what was in flight."
HOW_FAR = {
    "none": "The batch was planned, and no partition wrote its state.",
    "some": "Some partitions wrote the state of the batch and others did not.",
    "all": "Every partition wrote the state of the batch, and it was never committed.",
    None: "The upload holds no state, so it does not tell how far the batch came.",
}
SPOILT = {
    "damaged-empty-commit": (
        "incident-state-ahead",
        {1},
        f"{MAIN}/commits/1: It is empty: was the writer stopped, or the copy cut short?",
    ),
    "damaged-missing-delta": (
        "window-agg-hdfs",
        set(range(2, 11)),
        f"{MAIN}/state/0/0/3.delta: It is missing, and without it the state cannot be put "
        "together.",
    ),
    "damaged-no-schema": (
        "window-agg-hdfs",
        set(range(12)),
        f"{MAIN}/state/0/0/_metadata/schema: It is missing, so that nobody can tell here what the "
        "bytes of the state mean.",
    ),
    "damaged-truncated-offset": (
        "window-agg-hdfs",
        {11},
        f"{MAIN}/offsets/11: It is not JSON (unexpected end of data, character 198).",
    ),
}
"""The case that was damaged by hand, the batches that this spoils, and what is said of the file."""


def claims(answer) -> set[str]:
    """Return the sentences of a page that are no furniture."""
    return {item for item in sentences_of(answer) if not FURNITURE.fullmatch(item)}


def fact(answer, name: str) -> str:
    """Return what stands beside the last label with this name."""
    blocks = blocks_of(answer)
    return blocks[len(blocks) - blocks[::-1].index(name)]


class Batch:
    """What the expected answer of a case says of one batch."""

    def __init__(self, expected: dict, entry: dict, spoilt: str | None) -> None:
        self.id = entry["batch"]
        self.directory = expected.get("dir")  # if the upload has several, and this is not the first
        self.is_committed = entry["committed"]
        self.is_continuous = "continuous" in expected["case"]
        self.operators = expected["operators"]
        self.spoilt = spoilt
        flying = [item for item in expected["in_flight"] if item["batch"] == self.id]
        self.wrote = flying[0]["partitions_that_wrote_it"] if flying else {}
        self.rows = flying[0]["rows"] if flying else None

    @property
    def name(self) -> str:
        return f"{self.id} ({self.directory})" if self.directory else str(self.id)

    @property
    def outcome(self) -> str:
        if not self.is_committed:
            return "in progress"
        return "damaged" if self.spoilt else "not judged"

    @property
    def how_far(self) -> str:
        if not self.operators:
            return HOW_FAR[None]
        done = [
            len(partitions) == operator["num_partitions"]
            for operator in self.operators
            for partitions in self.wrote.get(str(operator["id"]), {}).values()
        ]
        some = any(part for stores in self.wrote.values() for part in stores.values())
        return HOW_FAR["all" if all(done) and some else "some" if some else "none"]

    def contents(self) -> set[str]:
        """Return what the page of the batch says."""
        stateless = set() if self.operators else {"No operator of the query keeps state."}
        if self.is_continuous:
            return stateless | {"completed", f"It is not known what was in flight. {CONTINUOUS}"}
        if self.is_committed:
            return stateless | {"completed", f"Nothing was in flight. {DRAINED}"}
        return stateless | {"in progress", self.how_far, *self._partitions()}

    def _partitions(self) -> set[str]:
        said = set()
        for operator in self.operators:
            wrote = next(iter(self.wrote.get(str(operator["id"]), {"": []}).values()), [])
            lacks = [part for part in range(operator["num_partitions"]) if part not in wrote]
            first = f"{_parts(wrote)} wrote the state of this batch"
            second = f"; {_parts(lacks)} did not" if lacks else ""
            said.add(f"{operator['name']}: {first}{second}.")
        return said

    def snapshot(self, channels: int, processes: int) -> set[str]:
        """Return what the page of its snapshot says."""
        known = f"{channels} channel{'s' if channels > 1 else ''}"
        said = {self.outcome, "none: Spark works without markers"}
        if self.spoilt:
            said.add(self.spoilt)
        if self.is_continuous:
            return said | {f"{known} not known. {CONTINUOUS}"}
        if self.is_committed:
            return said | {f"{known} known to be empty. {DRAINED}"}
        missing = processes - 1
        return said | {
            "not committed",
            f"{known} not known. {OPEN}",
            self.how_far,
            "does not hold The batch is not committed, so no state of "
            f"{missing} of {processes} processes counts for it.",
            *self._tasks(),
        }

    def _tasks(self) -> set[str]:
        prefix = f"{self.directory}: " if self.directory else ""
        others = (f"{prefix}source 0[0]", f"{prefix}sink[0]")
        untold = f"Batch {self.name} is not committed, so no state of {{}} counts for it."
        said = {untold.format(process) for process in others}
        for operator in self.operators:
            (wrote,) = self.wrote[str(operator["id"])].values()
            for partition in range(operator["num_partitions"]):
                task = f"{prefix}{operator['name']}[{partition}]"
                said.add(
                    f"{task} wrote its state of batch {self.name}, but the batch is not committed, "
                    "so a restart runs it again."
                    if partition in wrote
                    else f"{task} wrote no state of batch {self.name}, which is not committed."
                )
        return said


def _parts(partitions: list[int]) -> str:
    if not partitions:
        return "no partition"
    words = " and ".join(map(str, partitions))
    return f"partition{'s' if len(partitions) > 1 else ''} {words}"


def of_case(shared_data: Path, name: str, scratch: Path) -> tuple[Path, dict, set[int], str]:
    """Return the folder of a case, its expected answer, and what damage was done to it."""
    folder, expected = unpack(shared_data / "spark-streaming" / f"{name}.zip", scratch)
    if expected["schema"] != DAMAGED:
        return folder, expected, set(), ""
    whole, batches, sentence = SPOILT[name]
    assert expected["derived_from"] == whole
    _, expected = unpack(shared_data / "spark-streaming" / f"{whole}.zip", scratch / "whole")
    return folder, expected, batches, sentence


def runs_of(expected: dict) -> list[dict]:
    """Return the answers about each checkpoint directory of a case, in the order of the upload."""
    before = expected.get("before_restart")
    return [expected, expected | before] if before else [expected]


@pytest.mark.parametrize("name", by_pages("spark", CASES))
def test_every_sentence_about_a_spark_checkpoint_is_expected(
    client, ada, shared_data, tmp_path, name
):
    folder, expected, spoilt, damage = of_case(shared_data, name, tmp_path)
    row = an_upload(ada, "spark-streaming", folder)
    listed = blocks_of(client.get(f"/recordings/{row.pk}/snapshots"))
    has_state, runs = bool(expected["operators"]), runs_of(expected)
    channels, processes = row.channel_count // len(runs), row.process_count // len(runs)
    batches = [(run, entry) for run in runs for entry in run["timeline"]]
    for number, (run, entry) in enumerate(batches):
        batch = Batch(run, entry, damage if entry["batch"] in spoilt else None)
        page = client.get(f"/recordings/{row.pk}/contents/{number}")
        said = {item for item in claims(page) if not _is_of_files(item, name)}
        if batch.spoilt and "/state/" not in damage:
            log = damage.removeprefix(f"{MAIN}/").partition(":")[0]
            assert any(item.startswith(log) for item in said), (name, batch.id)
            said = {item for item in said if not item.startswith(log)} | {"completed"}
        planned = {item for item in said if item.startswith("planned, not committed: ")}
        assert said - planned == batch.contents(), (name, batch.id)
        assert bool(planned) is not batch.is_committed
        if batch.rows is not None:
            (words,) = planned
            assert f"batch {batch.id}: {batch.rows} row" in words
        state = fact(page, "State")
        assert (state != "0 B") is has_state or batch.spoilt, (name, batch.id, state)
        page = client.get(links.to_snapshot(row.pk, batch.name))
        said = {item for item in claims(page) if item not in _notes(page)}
        assert said == batch.snapshot(channels, processes), (name, batch.id)
        place = listed.index(batch.name)
        assert listed[place + 1] == batch.outcome
        rule = "not known" if batch.is_committed else "does not hold"
        assert listed[place + 2 : place + 6] == [*["not known"] * 3, rule]


def _is_of_files(item: str, name: str) -> bool:
    """Tell whether a sentence is about files of state, which the inventory's tests compare."""
    return item.startswith("default: ") or (name in SPOILT and item.startswith(f"{MAIN}/state"))


def _notes(page) -> list[str]:
    """Return the notes on how the recording was derived."""
    blocks = blocks_of(page)
    if "More on how it was derived" not in blocks:
        return []
    begin = blocks.index("More on how it was derived")
    return blocks[begin : blocks.index("Verdict", begin)]


@pytest.mark.parametrize("name", COUNTS)
def test_every_sentence_about_a_seatunnel_checkpoint_is_expected(
    client, ada, shared_data, tmp_path, name
):
    folder, expected = unpack(shared_data / "seatunnel" / f"{name}.zip", tmp_path)
    row = an_upload(ada, "seatunnel", folder)
    contents = json.loads(client.get(f"/api/recordings/{row.pk}/contents").content)
    by_path = {item["path"]: item["decoded"] for item in expected["files"]}
    later = {
        (item["pipeline_id"], item["checkpoint_id"]): [
            other["checkpoint_id"]
            for other in by_path.values()
            if other["pipeline_id"] == item["pipeline_id"]
            and other["checkpoint_id"] > item["checkpoint_id"]
        ]
        for item in by_path.values()
    }
    for number, item in enumerate(contents["checkpoints"]):
        decoded = by_path[item["path"]]
        page = client.get(f"/recordings/{row.pk}/contents/{number}")
        after = later[decoded["pipeline_id"], decoded["checkpoint_id"]]
        said = {one for one in claims(page) if not INFERRED.match(one)}
        unknown = {f"It is not known what was in flight. {NOT_TOLD}"}
        operators = (
            set()
            if item["operators"]
            else {"Nothing is known of the operators of this checkpoint."}
        )
        assert said == {"completed"} | unknown | operators, (name, number)
        committed = fact(page, "committed")
        assert committed.startswith(
            f"yes inferred: Checkpoint {min(after)} was taken later."
            if after
            else "not known inferred: There is no later file."
        ) or decoded["type"].startswith("COMPLETED"), (name, number, committed)
        assert fact(page, "In flight") == "not known"
        if item["operators"]:
            _require_snapshot(client, row, item)


def _require_snapshot(client, row: Recording, item: dict) -> None:
    """Require what the page of a checkpoint's snapshot says."""
    name = item["snapshot"] or str(item["id"])
    page = client.get(links.to_snapshot(row.pk, name))
    said = {one for one in claims(page) if one not in _notes(page)}
    assert said == {"not judged", "not known: the files do not hold them"}, name
