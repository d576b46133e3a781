"""The API's answers about an upload of SeaTunnel, compared with a case's expected.json value by
value."""

from collections.abc import Iterator
from hashlib import sha256

from snapshots.domain.inventory.entries import NotRead, StateEntry
from snapshots.domain.inventory.model import COORDINATOR, CheckpointInventory, OperatorInventory
from tests.readers.engines.seatunnel.cases import as_expected
from tests.web.api.uploading import Uploaded

Facts = dict[tuple, object]


def expected_facts(files: list[dict]) -> Facts:
    """Return the expected facts. `files` are those of expected.json, with their paths in the
    upload."""
    return {
        (file["path"], *where): fact
        for file in files
        for where, fact in _expected(file["decoded"], file["bytes"])
    }


def _expected(decoded: dict, size: int) -> Iterator[tuple]:
    yield ("bytes of the file",), size
    yield ("job",), str(decoded["job_id"])
    yield ("pipeline",), decoded["pipeline_id"]
    yield ("id",), decoded["checkpoint_id"]
    yield ("type",), decoded["type"].removesuffix("_TYPE").replace("_", " ").lower()
    yield ("triggered",), decoded["trigger_ms"]
    yield ("completed",), decoded["completed_ms"]
    yield ("restored",), "yes" if decoded["restored_flag"] else "no"
    yield ("actions",), [action["key"] for action in decoded["actions"]]
    for action in decoded["actions"]:
        yield (action["key"], "parallelism"), action["parallelism"]
        states = dict(enumerate(action["subtasks"])) | {COORDINATOR: action["coordinator"]}
        for index, state in states.items():
            where = action["key"], index
            yield (*where, "elements"), None if state is None else len(state["state"])
            for place, element in enumerate(state["state"] if state else ()):
                yield (*where, place, "bytes"), element["bytes"]
                if element["java_serialized"]:
                    yield (*where, place, "content"), element["content"]
                else:
                    yield (*where, place, "sha256"), element["sha256"]
    for vertex in decoded["task_statistics"]:
        told = _acknowledged(vertex, decoded["trigger_ms"])
        yield ("task vertex", vertex["vertex_id"]), told


def _acknowledged(vertex: dict, triggered_at: int) -> str:
    told = f"{vertex['acked']} of {len(vertex['subtasks'])} acknowledged"
    after = [one["ack"] - triggered_at for one in vertex["subtasks"] if one is not None]
    if not after:
        return told
    first, last = min(after), max(after)
    if first < 0:
        return f"{told}, as noted before the trigger"
    when = f"{first:,} ms" if first == last else f"{first:,} to {last:,} ms"
    return f"{told}, {when} after the trigger"


def api_facts(uploaded: Uploaded, files: list[dict]) -> Facts:
    by_path = {one.path: place for place, one in enumerate(uploaded.contents.checkpoints)}
    facts: Facts = {}
    for file in files:
        number = by_path[file["path"]]
        checkpoint = uploaded.contents.checkpoints[number]
        told = dict(_of_checkpoint(checkpoint))
        told["bytes of the file",] = uploaded.files[file["path"]]["bytes"]
        entries = {(one.operator, one.subtask, one.key): one for one in uploaded.entries(number)}
        for action in file["decoded"]["actions"]:
            told |= dict(_of_elements(action, entries))
        facts |= {(file["path"], *where): fact for where, fact in told.items()}
    return facts


def _of_checkpoint(checkpoint: CheckpointInventory) -> Iterator[tuple]:
    facts = {fact.name: fact.value for fact in checkpoint.facts}
    yield ("job",), checkpoint.job
    yield ("pipeline",), facts["pipeline"]
    yield ("id",), checkpoint.id
    yield ("type",), checkpoint.kind
    yield ("triggered",), checkpoint.triggered_at
    yield ("completed",), checkpoint.completed_at
    yield ("restored",), facts["restored"]
    yield ("actions",), [operator.id for operator in checkpoint.operators]
    for operator in checkpoint.operators:
        yield (operator.id, "parallelism"), operator.parallelism
        yield from _of_subtasks(operator)
    for name, value in facts.items():
        if name.startswith("task vertex "):
            yield ("task vertex", int(name.rpartition(" ")[2])), value


def _of_subtasks(operator: OperatorInventory) -> Iterator[tuple]:
    """Yield the number of elements of subtasks that have none: 0, or None if one had ended."""
    yield (operator.id, COORDINATOR, "elements"), None
    for subtask in operator.subtasks:
        yield (operator.id, subtask.index, "elements"), None if subtask.finished else 0


def _of_elements(action: dict, entries: dict[tuple, StateEntry]) -> Iterator[tuple]:
    states = dict(enumerate(action["subtasks"])) | {COORDINATOR: action["coordinator"]}
    for index, state in states.items():
        where = action["key"], index
        own = [one for (key, subtask, _), one in entries.items() if (key, subtask) == where]
        if own:
            yield (*where, "elements"), len(own)
        for place, element in enumerate(state["state"] if state else ()):
            if (entry := entries.get((*where, place))) is None:
                continue
            yield (*where, place, "bytes"), entry.bytes
            if element["java_serialized"]:
                yield (*where, place, "content"), as_expected(entry.value, element["content"])
            else:
                yield (*where, place, "sha256"), _digest(entry)


def _digest(entry: StateEntry) -> str | None:
    """Return the digest of bytes that are not decoded, None if the API shows only the first of
    them."""
    if isinstance(entry.value, NotRead) and len(entry.value.head) == entry.bytes:
        return sha256(entry.value.head).hexdigest()
    return None
