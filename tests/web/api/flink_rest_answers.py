"""The API's answers about times and outcomes of checkpoints, compared with Flink's own REST
answers."""

import json
from collections.abc import Iterator
from pathlib import Path

from snapshots.domain.inventory.model import CheckpointInventory, OperatorInventory
from tests.readers.engines.flink.cases import Facts
from tests.web.api.uploading import Uploaded

KINDS = {"COMPLETED": "completed", "FAILED": "failed", "IN_PROGRESS": "in progress"}


def flink_details(folder: Path) -> dict[str, dict]:
    """Return Flink's details of each checkpoint by snapshot, with those of its subtasks, by vertex,
    in ``of``."""
    later = " (run 2)" if (folder / "rest-before").exists() else ""
    details: dict[str, dict] = {}
    for part, mark in (("rest-before", ""), ("rest", later)):
        for path in sorted((folder / part).glob("checkpoint-*.json")):
            value = json.loads(path.read_text())
            checkpoint = details.setdefault(f"{value['id']}{mark}", {"of": {}})
            if "subtasks" in value:
                checkpoint["of"][path.stem.rpartition("-")[2]] = value["subtasks"]
            else:
                checkpoint |= value
    return details


def expected_facts(details: dict[str, dict], uploaded: Uploaded) -> Facts:
    """Return for each checkpoint its outcome and duration, and for each subtask the times of its
    phases."""
    facts: Facts = {}
    for snapshot, one in details.items():
        status = one["status"]
        facts |= {
            (snapshot, "status"): KINDS[status],
            (snapshot, "kind"): "savepoint" if one["is_savepoint"] else "checkpoint",
            (snapshot, "triggered at"): one["trigger_timestamp"],
        }
        if status != "IN_PROGRESS":
            facts[snapshot, "duration"] = one["end_to_end_duration"]
        if status == "FAILED":
            facts[snapshot, "failure"] = one["failure_message"]
        vertices = {one.id: one for one in _of_snapshot(uploaded, snapshot).operators}
        for vertex, subtasks in one["of"].items():
            process = vertices[vertex].vertex or vertices[vertex].name
            for subtask in subtasks:
                if not _had_ended(vertices[vertex], subtask["index"]):
                    where = snapshot, f"{process}[{subtask['index']}]"
                    facts |= dict(_of_subtask(where, subtask))
    return facts


def _of_subtask(where: tuple, subtask: dict) -> Iterator[tuple]:
    if subtask["status"] != "completed":
        return
    yield (*where, "start delay"), subtask["start_delay"]
    yield (*where, "alignment"), subtask["alignment"]["duration"]
    yield (*where, "copy"), subtask["checkpoint"]["sync"]
    yield (*where, "upload"), subtask["checkpoint"]["async"]
    yield (*where, "bytes"), subtask["state_size"]
    yield (*where, "new bytes"), subtask.get("checkpointed_size")
    acked = None if subtask["aborted"] else subtask["end_to_end_duration"]
    yield (*where, "acknowledged after"), acked


def api_facts(details: dict[str, dict], uploaded: Uploaded) -> Facts:
    facts: Facts = {}
    for snapshot in details:
        checkpoint = _of_snapshot(uploaded, snapshot)
        report = uploaded.get(f"/checkpoints/{snapshot}")
        facts |= {
            (snapshot, "status"): checkpoint.status,
            (snapshot, "kind"): checkpoint.kind,
            (snapshot, "triggered at"): checkpoint.triggered_at,
            (snapshot, "duration"): report["duration"],
            (snapshot, "failure"): (checkpoint.problem or "").partition("no files of it: ")[2],
        }
        for task in report["tasks"]:
            facts |= dict(_of_task((snapshot, task["process"]), task, report))
    return facts


def _of_task(where: tuple, task: dict, report: dict) -> Iterator[tuple]:
    yield (*where, "start delay"), task["start_delay"]
    yield (*where, "alignment"), task["alignment"] or 0
    yield (*where, "copy"), _between(task["sync_from"], task["sync_to"])
    yield (*where, "upload"), _between(task["sync_to"], task["async_to"])
    yield (*where, "bytes"), task["bytes_total"]
    yield (*where, "new bytes"), task["bytes_new"]
    yield (*where, "acknowledged after"), _between(report["triggered_at"], task["acked_at"])


def _between(start: int | None, end: int | None) -> int | None:
    return None if None in (start, end) else end - start


def _of_snapshot(uploaded: Uploaded, snapshot: str) -> CheckpointInventory:
    """Return the checkpoint of a snapshot. The id of a vertex is that of its first operator."""
    (checkpoint,) = (
        one for one in uploaded.contents.checkpoints if (one.snapshot or str(one.id)) == snapshot
    )
    return checkpoint


def _had_ended(vertex: OperatorInventory, index: int) -> bool:
    """Return whether a subtask had ended: then Flink did not ask it, and reports only times of
    zero."""
    return vertex.finished or any(one.index == index and one.finished for one in vertex.subtasks)
