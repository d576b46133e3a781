"""The API's answers about a Spark checkpoint, in the words of a case's expected.json."""

import json
from collections.abc import Iterator
from dataclasses import replace

from snapshots.domain.inventory.model import (
    COMPLETED,
    IN_PROGRESS,
    CheckpointInventory,
    Fact,
    UploadInventory,
)
from tests.readers.engines.spark_streaming.cases import MAIN, in_order
from tests.readers.engines.spark_streaming.inventory import (
    batches_of,
    facts_of,
    folders_of,
    name_of,
    told_by_entries,
)
from tests.web.api.uploading import Uploaded

Facts = dict[tuple, object]
WITHOUT_KEY = "global-agg-no-key"  # one partition has state, whatever the metadata say
UNTOLD = ("the beginning", "not known")


def histories(expected: dict) -> dict[str, dict]:
    """Return the expected answers by folder of the checkpoint."""
    before = expected.get("before_restart")
    return {MAIN: expected} | ({before["dir"]: before} if before else {})


# --- what is expected -----------------------------------------------------------------------------


def expected_facts(expected: dict) -> Facts:
    facts: Facts = {}
    topology = expected["topology"]
    for source in topology["sources"]:
        if source["description"] is not None:
            facts["source", source["id"]] = source["description"]
    facts["sink",] = topology["sink"]
    facts["edges",] = sorted(" to ".join(edge) for edge in topology["edges"])
    for operator in topology["operators"]:
        facts["partitions of operator", str(operator["id"])] = operator["num_partitions"]
        if expected["case"] == WITHOUT_KEY:
            facts["partitions of operator", str(operator["id"])] = 1
        if operator["name"] is not None:
            facts["operator", str(operator["id"])] = operator["name"]
    for folder, answers in histories(expected).items():
        facts |= {(folder, *where): fact for where, fact in _expected_batches(answers)}
    for read in expected["state"]:
        place = read["batch"], str(read["operator"]), name_of(read["read"])
        facts["state", *place] = in_order(read["partitions"])
    return facts


def _expected_batches(answers: dict) -> Iterator[tuple]:
    yield ("batches",), [one["batch"] for one in answers["timeline"]]
    yield ("committed",), [one["batch"] for one in answers["timeline"] if one["committed"]]
    for one in answers["timeline"]:
        batch = one["batch"]
        yield (batch, "status"), COMPLETED if one["committed"] else IN_PROGRESS
        yield (batch, "verdict"), "unknown" if one["committed"] else "incomplete"
        yield (batch, "planned at"), one["planned_at_ms"]
        yield (batch, "watermark"), one["watermark_ms"]
        yield (batch, "next watermark"), one["next_watermark_ms"]
        for source in one["sources"]:
            where = batch, "source", source["source"]
            yield (*where, "start"), _text(source["start"])
            yield (*where, "end"), _text(source["end"])
            if source.get("files") is not None:
                yield (*where, "files"), ", ".join(source["files"]) or "none"
            if source.get("rows") is not None:
                yield (*where, "rows"), source["rows"]
    for one in answers["in_flight"]:
        wrote = {id: stores["default"] for id, stores in one["partitions_that_wrote_it"].items()}
        yield (one["batch"], "rows in flight"), one["rows"]
        yield (one["batch"], "partitions that wrote"), wrote


def _text(offset: object) -> str | None:
    return None if offset is None else json.dumps(offset, separators=(",", ":"))


# --- what is found --------------------------------------------------------------------------------


def api_facts(uploaded: Uploaded, expected: dict) -> Facts:
    contents = _without(uploaded.contents, f"{expected['case']}/")
    [key] = (key for key, folder in folders_of(contents).items() if folder == MAIN)
    job = next(one for one in contents.jobs if one.key == key)
    about = {fact.name: fact.value for fact in job.facts}
    facts: Facts = {("source", name[7:]): value for name, value in about.items()
                    if name.startswith("source ")}  # fmt: skip
    facts["sink",] = about.get("sink")
    facts["edges",] = sorted((about["edges"] or "").split(", "))
    for operator in batches_of(contents, MAIN)[-1].operators:
        facts["operator", operator.id] = operator.name
        facts["partitions of operator", operator.id] = operator.parallelism
    for folder, answers in histories(expected).items():
        told = _found_batches(uploaded, batches_of(contents, folder), answers)
        facts |= {(folder, *where): fact for where, fact in told}
    entries = [entry for number in range(len(contents.checkpoints))
               for entry in uploaded.entries(number)]  # fmt: skip
    for (folder, *place), rows in told_by_entries(contents, entries).items():
        if folder == MAIN:
            facts["state", *place] = in_order(rows)
    return facts


def _without(contents: UploadInventory, start: str) -> UploadInventory:
    """Return the inventory with the case's names of folders. A package has them in one of its
    own."""
    jobs = tuple(
        replace(one, facts=tuple(_moved(fact, start) for fact in one.facts))
        for one in contents.jobs
    )
    return replace(contents, jobs=jobs)


def _moved(fact: Fact, start: str) -> Fact:
    """Return the fact about the folder without the beginning of the folder; others as they are."""
    if fact.name != "folder" or fact.value is None:
        return fact
    return replace(fact, value=fact.value.removeprefix(start))


def _found_batches(
    uploaded: Uploaded, batches: list[CheckpointInventory], answers: dict
) -> Iterator[tuple]:
    yield ("batches",), [one.id for one in batches]
    yield ("committed",), [one.id for one in batches if one.status == COMPLETED]
    in_flight = {one["batch"] for one in answers["in_flight"]}
    for one in batches:
        facts = facts_of(one)
        yield (one.id, "status"), one.status
        yield (one.id, "verdict"), uploaded.verdicts.get(one.snapshot or str(one.id))
        yield (one.id, "planned at"), one.triggered_at
        yield (one.id, "watermark"), facts["watermark: older state is evicted"]
        yield (one.id, "next watermark"), facts["watermark after"]
        for name, value in facts.items():
            if name.startswith("source "):
                yield from _of_source(one.id, name, value)
        if one.id in in_flight:
            wrote = {op.id: [part.index for part in op.subtasks] for op in one.operators}
            yield (one.id, "rows in flight"), one.planned and one.planned.rows
            yield (one.id, "partitions that wrote"), wrote


def _of_source(batch: int, name: str, value: object) -> Iterator[tuple]:
    source, _, what = name.removeprefix("source ").partition(": ")
    where = batch, "source", source
    if what == "offsets":
        start, _, end = value.partition(" to ")
        yield (*where, "start"), None if start in UNTOLD else start
        yield (*where, "end"), None if end == "no offset yet" else end
    else:
        yield (*where, what), value


# --- damaged copies -------------------------------------------------------------------------------


def expected_facts_of_damaged(expected: dict) -> Facts:
    facts: Facts = {}
    for read in expected["statestore_reads"]:
        facts[read["batch"], "outcome"] = read["outcome"]
        if read["outcome"] == "ok":
            facts[read["batch"], "rows"] = read["rows"]
    return facts


def api_facts_of_damaged(uploaded: Uploaded) -> Facts:
    """Return the facts of a damaged checkpoint. A state that was not read, or only in part, says
    why."""
    facts: Facts = {}
    for one in uploaded.contents.checkpoints:
        states = [state for operator in one.operators for state in operator.states]
        said = [*one.notes, *(note for operator in one.operators for note in operator.notes)]
        if states and all(state.complete and state.reason is None for state in states):
            facts[one.id, "outcome"] = "ok"
            facts[one.id, "rows"] = sum(state.entries for state in states)
        elif one.problem or said:
            facts[one.id, "outcome"] = "error"
    return facts
