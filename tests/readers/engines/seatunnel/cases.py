"""Compare SeaTunnel's recorded files with their expected.json, value by value."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from snapshots.readers.engines.seatunnel.model import (
    Checkpoint,
    Payload,
    SubtaskState,
    VertexStatistics,
)
from snapshots.readers.engines.seatunnel.upload import SeaTunnelLimits, SeaTunnelUpload, read_upload
from snapshots.readers.formats.unpacking.packages import PackageLimits, unpack


def cases(shared_data: Path) -> list[Path]:
    return sorted((shared_data / "seatunnel").glob("*.zip"))


def read_case(archive: Path) -> tuple[dict, SeaTunnelUpload, str]:
    """Return the expected.json, the upload that was read, and the prefix of all paths."""
    with tempfile.TemporaryDirectory() as name:
        target = Path(name) / "case"
        unpack(archive, target, PackageLimits())
        [expected] = target.rglob("expected.json")
        prefix = expected.parent.relative_to(target).as_posix() + "/"
        return json.loads(expected.read_text()), read_upload(target, SeaTunnelLimits()), prefix


def agreement(archive: Path) -> dict[str, int]:
    """Count the values of the expected.json that were compared, and those that agree."""
    expected, upload, prefix = read_case(archive)
    pairs = list(compared(expected, upload, prefix))
    return {"compared": len(pairs), "agreed": sum(theirs == ours for _, theirs, ours in pairs)}


def compared(expected: dict, upload: SeaTunnelUpload, prefix: str) -> Iterator[tuple]:
    """Yield path, expected and actual value of every single value."""
    stored = {
        file.path.removeprefix(prefix): file
        for pipeline in upload.pipelines
        for file in pipeline.checkpoints
    }
    yield "files", sorted(item["path"] for item in expected["files"]), sorted(stored)
    for item in expected["files"]:
        file = stored.get(item["path"])
        actual = file and {
            "path": item["path"],
            "bytes": file.bytes,
            "content": file.content,
            "decoded": in_its_words(file.checkpoint, item["decoded"]),
        }
        yield from _leaves(item["path"], item, actual)


def _leaves(path: str, expected: object, actual: object) -> Iterator[tuple]:
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in expected.keys() | actual.keys():
            no = object()
            yield from _leaves(f"{path}.{key}", expected.get(key, no), actual.get(key, no))
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for index, (theirs, ours) in enumerate(zip(expected, actual, strict=True)):
            yield from _leaves(f"{path}[{index}]", theirs, ours)
    else:
        yield path, expected, actual


def in_its_words(checkpoint: Checkpoint, expected: dict) -> dict:
    return {
        "job_id": checkpoint.job,
        "pipeline_id": checkpoint.pipeline,
        "checkpoint_id": checkpoint.id,
        "type": checkpoint.type,
        "trigger_ms": checkpoint.triggered_at,
        "completed_ms": checkpoint.completed_at,
        "restored_flag": checkpoint.restored,
        "actions": [
            {
                "key": action.key,
                "parallelism": action.parallelism,
                "subtasks": [
                    _state(state, known)
                    for state, known in zip(action.subtasks, given["subtasks"], strict=True)
                ],
                "coordinator": _state(action.coordinator, given["coordinator"]),
            }
            for action, given in zip(checkpoint.actions, expected["actions"], strict=True)
        ],
        "task_statistics": [_vertex(vertex) for vertex in checkpoint.statistics],
    }


def _state(state: SubtaskState | None, expected: dict | None) -> dict | None:
    if state is None or expected is None:
        return None if state is None else {"index": state.index}
    elements = zip(state.elements, expected["state"], strict=True)
    return {
        "index": state.index,
        "state": [_element(element, known) for element, known in elements],
    }


def _element(payload: Payload, expected: dict) -> dict:
    java = payload.encoding == "java"
    return {
        "bytes": payload.size,
        "sha256": payload.sha256,
        "java_serialized": java,
        "content": as_expected(payload.content, expected["content"]) if java else None,
    }


def as_expected(value: dict, expected: dict) -> dict:
    """Return the expected fields of an object; ``meaning`` is a remark, not a field."""
    flat = {"class": value["class"].rpartition(".")[2]} | {
        name: _bare(item) for name, item in value["fields"].items() if name in expected
    }
    return flat | {key: expected[key] for key in ("meaning",) if key in expected}


def _bare(value: object) -> object:
    """Return a value with inner objects as fields only, without their class."""
    if isinstance(value, list):
        return [_bare(item) for item in value]
    if isinstance(value, dict) and "fields" in value:
        return {name: _bare(item) for name, item in value["fields"].items()}
    return {k: _bare(v) for k, v in value.items()} if isinstance(value, dict) else value


def _vertex(vertex: VertexStatistics) -> dict:
    return {
        "vertex_id": vertex.vertex,
        "acked": vertex.acknowledged,
        "subtasks": [
            task
            and {
                "subtask": task.subtask,
                "ack": task.acknowledged_at,
                "size": task.elements,
                "status": task.status,
            }
            for task in vertex.subtasks
        ],
        "completed_flags": list(vertex.completed),
    }
