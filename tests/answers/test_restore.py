"""The answer to "can I restore with N subtasks?" on real checkpoints, and what engines then did."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from snapshots.answers.restore import Question, flow_of
from snapshots.domain.inventory.flow import Flow
from snapshots.domain.inventory.restore_answer import NO, NOT_KNOWN, YES
from snapshots.readers.engines import registry
from snapshots.store.inventory.reading import StoredInventory
from snapshots.store.inventory.writing import write_inventory
from tests.readers.engines.spark_streaming.cases import unpack

ORDERS = ("bank-unaligned", "rescaled", "unaligned-orders", "v4-unaligned-orders")
CASES = (
    *("aligned-hashmap-files", "bank-aligned", "bounded", "changelog", "failures", "file-merging"),
    *("forst-async-state", "rocksdb-full", "rocksdb-incremental", "savepoint-canonical"),
    *("savepoint-native", "two-pipelines", "v2-bank-fs", "v3-orders-rocksdb"),
    *("v5-unaligned-bank", "windows-timers"),
)
WITH_SPLITS = [case for case in CASES if case not in ("bounded", "v2-bank-fs")]
"""The cases in which every source is of the new kind, and has not been read to its end."""


class Asking:
    """Asks about an upload whose inventory is stored in a folder of its own."""

    def __init__(self, folder: Path, store: Path, engine: str) -> None:
        upload = registry.READERS[engine].read(folder)
        store.mkdir()
        write_inventory(store, upload)
        header, _ = upload.recording()
        self.inventory = StoredInventory(store)
        self.flow = flow_of(header.topology.channels)
        self.checkpoints = self.inventory.upload["checkpoints"]

    def __call__(self, number, parallelism, without=(), keep=(), *, flow=None):
        question = Question(
            self.inventory, self.flow if flow is None else flow, parallelism, frozenset(keep)
        )
        return question.answer(number, without)


@pytest.fixture(scope="module")
def asking(shared_data, tmp_path_factory):
    """Return a function that stores a case once, and asks about it."""
    known = {}

    def of(path: str, engine: str = "flink") -> Asking:
        if path not in known:
            folder = shared_data / path
            scratch = tmp_path_factory.mktemp("case")
            if folder.suffix == ".zip":
                folder, _ = unpack(folder, scratch)
            known[path] = Asking(folder, scratch / "store", engine)
        return known[path]

    return of


def splits(answer):
    return {
        (source["name"] or source["operator"], split["split"]): split["next"]
        for source in answer["read_again"]
        for split in source["splits"]
    }


# --- what a real Flink did -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def outcome(shared_data):
    return lambda name: json.loads(
        (shared_data / "flink-upgrade" / name / "outcome.json").read_text()
    )


@pytest.mark.parametrize(
    ("variant", "parallelism", "keep"),
    [
        ("identical", 2, ["Source: numbers", "ring"]),
        ("parallelism-within", 4, []),
        ("parallelism-within", 1, []),
        ("parallelism-within", 3, []),
        ("parallelism-above-set", 9, []),
    ],
)
def test_the_answer_is_what_flink_did(asking, outcome, variant, parallelism, keep):
    did = outcome(variant)
    ask = asking(f"flink-upgrade/{did['savepoint']}")
    answer = ask(0, parallelism, keep=keep)
    assert answer["answer"] == {"restored": YES, "refused": NO}[did["without_allow"]]
    if did["without_allow"] == "refused":
        assert "count's parallelism (9) is higher than the max parallelism (8)" in str(did)
        assert "a maximum parallelism of 8" in answer["headline"]
        kept = [item["name"] for item in answer["operators"] if item["name"] != "to-pair"]
        assert ask(0, parallelism, keep=kept)["answer"] == NOT_KNOWN  # the map has no state


@pytest.mark.parametrize(
    ("variant", "without"),
    [
        ("operator-removed", ["account"]),
        ("uid-renamed", ["account"]),
        ("no-uids-map-inserted", ["count", "account", "ring", "rules"]),
    ],
)
def test_without_operators_their_states_are_lost_as_flink_lost_them(
    asking, outcome, variant, without
):
    did = outcome(variant)
    answer = asking(f"flink-upgrade/{did['savepoint']}")(0, 2, without)
    assert (did["without_allow"], did["with_allow"]) == ("refused", "started-with-loss")
    assert answer["answer"] == YES
    assert answer["headline"].startswith("Yes, with allowNonRestoredState")
    lost = {f"{item['name']}.{state}" for item in answer["thrown_away"] for state in item["states"]}
    assert lost == set(did["lost_states_with_allow"])
    whole, asked = answer["variants"]
    assert (whole["answer"], whole["thrown_away"], whole["is_asked"]) == (YES, [], False)
    assert (asked["thrown_away"], asked["is_asked"]) == (answer["thrown_away"], True)


def test_the_source_goes_on_with_the_number_that_flink_read_first(asking, shared_data):
    checked = 0
    for path in sorted((shared_data / "flink-upgrade").glob("*/outcome.json")):
        did = json.loads(path.read_text())
        for run in did["details"].values():
            for line in (run.get("found") or {}).get("numbers-0", ()):
                answer = asking(f"flink-upgrade/{did['savepoint']}")(0, 1)
                first = int(line.removeprefix("first="))
                assert splits(answer) == {("Source: numbers", "1"): first}
                checked += 1
    assert checked == 17


def test_keys_and_elements_went_to_the_subtasks_that_the_plan_names(asking, outcome):
    """The restored job had 4 subtasks of `count` and 3 of `ring`, and wrote what each found."""
    did = outcome("parallelism-within")
    ask = asking(f"flink-upgrade/{did['savepoint']}")
    lines = did["details"]["without_allow"]["found"]
    found = {
        key: subtask
        for subtask in range(4)
        for key in re.findall(r"key=(\w+)", " ".join(lines[f"count-{subtask}"]))
    }
    count = next(item for item in ask(0, 4)["operators"] if item["name"] == "count")
    assert {item["key"]: item["subtask"] for item in count["heaviest_keys"]} == found
    assert count["skew_after"] == pytest.approx(4 * 4 / 5)  # 4 of 5 equal keys in one of 4
    ring = next(item for item in ask(0, 3)["operators"] if item["name"] == "ring")
    own = [
        sum(part["elements"] for part in subtask["lists"] if part["state"] == "ring")
        for subtask in ring["after"]
    ]
    sizes = [
        len(re.search(r"ring=\[([\d, ]*)\]", lines[f"ring-{subtask}"][0])[1].split(", "))
        for subtask in range(3)
    ]
    assert own == sizes == [4, 3, 3]


# --- every real checkpoint of Flink --------------------------------------------------------------


@pytest.mark.parametrize(
    "case", [*ORDERS, *(pytest.param(case, marks=pytest.mark.slow) for case in CASES)]
)
def test_every_checkpoint_with_files_is_restored_up_to_its_maximum(asking, case):
    ask = asking(f"flink/{case}")
    for number, listed in enumerate(ask.checkpoints):
        body = ask.inventory.checkpoint(number)
        most = min((item["max_parallelism"] or 1 for item in body["operators"]), default=1)
        within, above = ask(number, most), ask(number, most + 1)
        if listed["status"] != "completed":
            assert (within["answer"], within["unknown"]) == (NO, [])
        elif listed["path"] is None:
            assert within["answer"] == NOT_KNOWN
            assert "not in the upload" in within["headline"]
        else:
            assert (within["answer"], above["answer"]) == (YES, NO), within["headline"]
            assert f"maximum parallelism of {most:,}" in above["headline"]


@pytest.mark.parametrize(
    "case", [*ORDERS, *(pytest.param(case, marks=pytest.mark.slow) for case in WITH_SPLITS)]
)
def test_sources_go_on_behind_the_last_number_that_the_job_noted(asking, shared_data, case):
    """The operators behind the sources wrote the last number that they had seen."""
    ask, checked = asking(f"flink/{case}"), 0
    for number, listed in enumerate(ask.checkpoints):
        if listed["path"] is None:
            continue
        notes = (shared_data / "flink" / case / "truth").glob(f"*-chk{listed['id']}.json")
        noted = [json.loads(path.read_text()).get("lastNumber") for path in notes]
        expected = {last + 1 for last in noted if last}  # 0: it had read nothing since its start
        assert expected <= set(splits(ask(number, 2)).values()), listed["id"]
        checked += len(expected)
    assert checked > 0


def test_an_older_checkpoint_reads_again_what_lies_between(asking, shared_data):
    ask = asking("flink/bank-unaligned")
    truth = shared_data / "flink/bank-unaligned/truth"
    first, last = (
        json.loads((truth / f"to-request-subtask0-chk{number}.json").read_text())["lastNumber"]
        for number in (1, 2)
    )
    newest, older = ask(1, 2)["variants"]
    assert (newest["again"]["records"], newest["title"]) == (None, "checkpoint 2, whole")
    assert (older["again"]["records"], older["again"]["unit"]) == (last - first, "record")
    assert older["again"]["sentence"].startswith(
        "2,483 records read before checkpoint 2 are read again"
    )


def test_a_source_of_another_kind_is_not_counted_and_is_named(asking):
    """The job has a source of the old kind, `rules`, beside two of the new kind."""
    _, older = asking("flink/unaligned-orders")(1, 3)["variants"]
    assert older["again"]["records"] is None
    assert older["again"]["sentence"].startswith("4,442 records read before checkpoint 2")
    assert older["again"]["sentence"].endswith("those of Source: rules.")


def test_operators_edges_and_sinks_are_those_of_the_flow(asking):
    answer = asking("flink/bank-unaligned")(1, 3)
    assert [item["name"] for item in answer["operators"]] == [
        *["Source: requests", "to-request", "withdraw", "deposit"]
    ]
    assert [item["target"] for item in answer["edges"]] == ["withdraw", "deposit"]
    assert [item["name"] for item in answer["written_again"]] == ["deposit"]
    assert (
        "96,294 bytes in flight are on exchanges (HASH) that Flink can divide."
        in (answer["reasons"])
    )
    silent = asking("flink/bank-unaligned")(1, 3, flow=Flow())
    assert silent["sinks"][0].startswith("Which operators are sinks")
    assert "whether they write again, is not known" in silent["sinks"][0]


def test_damaged_files_never_leave_a_yes(shared_data, tmp_path):
    """Each file of the newest checkpoint is left out once, and cut in half once."""
    origin = shared_data / "flink/bank-aligned/files"
    whole = _asked(origin, tmp_path / "whole")
    assert whole["answer"] == YES
    files = sorted(origin.glob("*/chk-3/*"))
    assert len(files) > 3
    for place, path in enumerate(files):
        for cut in (False, True):
            if path.name == "_metadata" and not cut:
                continue  # then nothing tells of the checkpoint
            copy = tmp_path / f"{place}-{cut}"
            _copied(origin, copy, path, cut=cut)
            assert _asked(copy, tmp_path / f"{place}-{cut}-store")["answer"] == NOT_KNOWN, path


def _copied(origin: Path, copy: Path, damaged: Path, *, cut: bool) -> None:
    for path in origin.rglob("*"):
        target = copy / path.relative_to(origin)
        if path.is_dir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if path != damaged:
            target.write_bytes(path.read_bytes())
        elif cut:
            target.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _asked(folder: Path, store: Path):
    ask = Asking(folder, store, "flink")
    question = Question(ask.inventory, ask.flow, 2)
    [newest] = question.newest()
    return question.answer(newest)


# --- Spark ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "partitions"),
    [
        ("window-agg-hdfs", 2),
        ("window-agg-rocksdb-full", 2),
        ("join-inner-hdfs", 2),
        ("incident-partial-partitions", 3),
        ("spark35-window-agg-hdfs", 2),
        ("plain-agg-rocksdb-v2", 2),
        ("union-three-sources", 2),
    ],
)
def test_spark_takes_the_partitions_of_its_offset_log_alone(asking, case, partitions):
    ask = asking(f"spark-streaming/{case}.zip", "spark-streaming")
    newest = len(ask.checkpoints) - 1
    body = ask.inventory.checkpoint(newest)
    assert body["settings"]["spark.sql.shuffle.partitions"] == str(partitions)
    assert ask(newest, partitions)["answer"] == YES, ask(newest, partitions)["headline"]
    other = ask(newest, partitions + 1)
    assert other["answer"] == NO
    assert f"spark.sql.shuffle.partitions = {partitions}" in other["headline"]
    assert all(item["problem"] for item in other["operators"])


def test_a_query_without_state_takes_any_number(asking):
    ask = asking("spark-streaming/stateless-file-to-parquet.zip", "spark-streaming")
    assert ask(12, 40)["answer"] == YES
    rate = asking("spark-streaming/continuous-rate-to-memory.zip", "spark-streaming")
    assert rate(3, 2)["answer"] == NOT_KNOWN


def test_a_file_that_spark_needs_and_that_is_gone_leaves_it_open(asking):
    ask = asking("spark-streaming/damaged-missing-delta.zip", "spark-streaming")
    answers = {ask.checkpoints[n]["id"]: ask(n, 2)["answer"] for n in range(12)}
    lacking = {item["id"] for number, item in enumerate(ask.checkpoints) if item["missing"]}
    assert lacking
    assert {id for id, answer in answers.items() if answer == NOT_KNOWN} == lacking


@pytest.mark.parametrize(
    "case", ["window-agg-hdfs", "incident-partial-partitions", "union-three-sources"]
)
def test_an_older_batch_reads_again_what_later_ones_read(asking, shared_data, tmp_path, case):
    ask = asking(f"spark-streaming/{case}.zip", "spark-streaming")
    _, expected = unpack(shared_data / "spark-streaming" / f"{case}.zip", tmp_path)
    rows = [sum(_rows(source) for source in batch["sources"]) for batch in expected["timeline"]]
    for number in range(len(ask.checkpoints) - 1):
        again = ask(number, 2)["again"]
        assert again["records"] == sum(rows[number + 1 :]), number
        assert "offsets and commits have to be removed first" in again["sentence"]


def _rows(source):
    """Return the rows of a range; a rate source's are the distance of its offsets."""
    if source["end"] is None or "offset" not in source["end"]:
        return source.get("rows", 0)
    return source["end"]["offset"] - (source["start"] or {"offset": 0})["offset"]


# --- SeaTunnel -----------------------------------------------------------------------------------


def test_seatunnel_gives_every_state_to_one_subtask(asking):
    ask = asking("seatunnel/synthetic-fake-to-localfile.zip", "seatunnel")
    for parallelism in (1, 2, 3, 5):
        answer = ask(4, parallelism)
        assert answer["answer"] == YES
        for action in answer["operators"]:
            given = [
                (old, subtask["index"])
                for subtask in action["after"]
                for first, last in subtask["sources"]
                for old in range(first, last + 1)
            ]
            assert sorted(given) == [(old, old % parallelism) for old in range(2)]
        rules = {
            state["state"]: state["rule"]
            for item in answer["operators"]
            for state in item["states"]
        }
        assert "returns them to the enumerator" in rules["splits"]


def test_pipelines_of_seatunnel_are_restored_each_by_itself(asking):
    ask = asking("seatunnel/synthetic-two-pipelines-idle-reader.zip", "seatunnel")
    question = Question(ask.inventory, ask.flow, 2)
    newest = question.newest()
    assert [ask.checkpoints[place]["id"] for place in newest] == [4, 2]
    for place in newest:
        answer = question.answer(place)
        older = [item["checkpoint"] for item in answer["variants"]]
        assert all(first > second for first, second in pairwise(older))
        assert older[-1] == (2 if place == newest[0] else 1)
