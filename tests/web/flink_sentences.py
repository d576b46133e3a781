"""What every page has to say of a real case of Flink."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from snapshots import quantities
from snapshots.domain.dataflow_logs.checkpoints.sentences import spelled
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from tests.readers.engines.flink import engine as frame
from tests.readers.engines.flink.cases import CASES, LEGACY
from tests.web.api.flink_rest_answers import flink_details
from tests.web.flink_lines import sentence
from tests.web.flink_plan_sentences import of_plan
from tests.web.flink_truth import UNKNOWN_SERIALIZERS, Truth

__all__ = ["NAMES", "PARTS", "READER", "Sentences", "sentence"]

NAMES = (*CASES, *LEGACY)
PARTS = ("files", "rest-before", "rest")
READER = FlinkReader
BY_CHANNEL = "Data in flight by channel"


class Sentences:
    """The sentences that the pages have to say of a case, page by page.

    Args:
        listed: the checkpoints in the API's answer: their addresses, and nothing else of it.
    """

    def __init__(self, folder: Path, listed: list[dict[str, Any]]) -> None:
        expected = json.loads((folder / "expected.json").read_text())
        case = folder / "case.json"
        jobs = json.loads(case.read_text())["jobs"] if case.exists() else []
        options = jobs[-1]["options"] if jobs and isinstance(jobs[-1]["options"], dict) else {}
        details = flink_details(folder)
        stored = {}
        for entry in frame.expected_snapshots(expected):
            path = entry["path"] or _only_metadata(folder)
            stored[path.rpartition("/")[0]] = entry
        self.has_times = bool(details)
        parts = (folder / part / "plan.json" for part in ("rest-before", "rest"))
        plans = [json.loads(path.read_text()) for path in parts if path.exists()]
        self.truths = []
        for number, one in enumerate(listed):
            name = one["snapshot"] or str(one["id"])
            entry, rest = stored.pop(one["path"], None), details.pop(name, None)
            assert entry is not None or rest is not None, f"{name} is in no expected answer"
            plan = plans[len(plans) > 1 and "(run 2)" in name] if plans else None
            is_checked = folder.name not in UNKNOWN_SERIALIZERS
            self.truths.append(
                Truth(name, number, entry, rest, options, plan, one["job"], is_checked)
            )
        assert not stored, f"not listed: {sorted(stored)}"
        assert not details, f"not listed: {sorted(details)}"

    def pages(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the address of each page below the recording's, and what it has to say."""
        yield "/contents", list(self._listed())
        yield "/checkpoints", list(self._timed_list())
        for truth in self.truths:
            yield f"/contents/{truth.number}", list(_of_checkpoint(truth))
            yield f"/snapshots/{truth.snapshot}", list(_of_snapshot(truth))
            if truth.rest is not None:
                yield f"/checkpoints?checkpoint={truth.snapshot}", list(_of_times(truth))
            yield (
                f"/contents/{truth.number}/restore-plan?parallelism=2",
                list(of_plan(truth, self.truths)),
            )
        for before, after in zip(self.truths, self.truths[1:], strict=False):
            address = f"/contents/{after.number}/difference?since={before.number}"
            yield address, list(_of_difference(before, after))

    def archived(self, job: str) -> Iterator[tuple[int, list[str]]]:
        """Yield the number of each checkpoint of a job, and what its page in the archive says."""
        for truth in self.truths:
            if truth.job == job:
                yield truth.id, list(_in_archive(truth))

    def _listed(self) -> Iterator[str]:
        for truth in self.truths:
            run = "" if truth.snapshot == str(truth.id) else f" snapshot {truth.snapshot}"
            row = f"Checkpoints: {truth.id} {truth.kind}{run}"
            yield f"{row}, Status: {truth.status}"
            if truth.problem:
                yield f"{row}, Status: {truth.problem}"
            yield f"{row}, Completed: {truth.completed_at}"
            yield f"{row}, State: {truth.said_state}"
            yield f"{row}, In flight: {truth.said_in_flight}"
            yield f"{row}, Files missing or damaged: {'not known' if truth.problem else 'none'}"

    def _timed_list(self) -> Iterator[str]:
        """Yield what the page of all checkpoints says; it is empty for a job without answers."""
        if not self.has_times:
            return
        yield (
            "Checkpoints: Took: from the trigger to the last acknowledgement, or until it was "
            "given up."
        )
        timed = [truth for truth in self.truths if truth.rest is not None]
        for truth in sorted(timed, key=lambda one: one.triggered_at):
            badge = "" if truth.kind == "checkpoint" else f" {truth.kind}"
            row = f"Checkpoints: {truth.snapshot}{badge}"
            yield f"{row}, Status: {_fate(truth)}"
            yield f"{row}, Status: {truth.mode}"
            if truth.status == "in progress":
                yield f"{row}, Took: still under way"
        untimed = [truth for truth in self.truths if truth.rest is None]
        if untimed:
            count = quantities.counted(len(untimed), "further checkpoint")
            yield f"Checkpoints: Of {count} in the upload no times are known:"
        for truth in untimed:
            yield (
                f"Checkpoints: {truth.kind} {truth.id}, {truth.status}: No answer of the engine "
                "says when anything happened."
            )


def _only_metadata(folder: Path) -> str:
    (path,) = folder.rglob("_metadata")
    return path.relative_to(folder).as_posix()


def _fate(truth: Truth) -> str:
    """Return the status with the reason, as the pages about times word it."""
    if truth.status == "in progress":
        return "pending"
    if truth.status != "failed":
        return truth.status
    message = truth.rest["failure_message"]
    if message.startswith("Checkpoint expired"):
        return "expired"
    return f"aborted {message.rstrip('.')}"


def _of_checkpoint(truth: Truth) -> Iterator[str]:
    yield truth.status
    if truth.problem:
        yield truth.problem
    yield f"State: {truth.said_state}"
    yield f"In flight: {truth.said_in_flight}"
    if truth.triggered_at is None:
        yield "Triggered: not known"
    yield f"Completed: {truth.completed_at}"
    if truth.in_flight is None:
        yield f"It is not known what was in flight. {truth.why}"
    elif not truth.channels:
        yield f"Nothing was in flight. {truth.why}"
    if truth.rest is not None:
        size = quantities.file_size(truth.rest["persisted_data"])
        yield f"facts: persisted in flight, with the length of each buffer: {size}"
    elif truth.job_has_answers:
        yield "Notes: The REST answers about its job do not mention it: its times are not known."
    elif truth.job:
        yield "Notes: The upload has no REST answers about its job: times and edges are not known."
    yield from ["subtask: not known"] * truth.unacknowledged
    yield from truth.of_operators()
    for channel in truth.channels:
        yield "channel, Part: whole"
        yield f"channel, Bytes: {channel['inputBytes'] + channel['outputBytes']:,}"


def _of_snapshot(truth: Truth) -> Iterator[str]:
    if truth.triggered_at is None:
        yield "Began: not known"
        yield "Took: not known"
        yield "Barriers: not known: the upload does not show when they travelled"
    yield "not judged" if truth.status == "completed" else truth.status
    recorded = truth.processes - truth.unacknowledged
    yield f"Recorded: {recorded} of {truth.processes} processes"
    silent = truth.channels_of_job - sum(bool(one["elements"]) for one in truth.channels)
    if silent:
        what = "not known" if truth.in_flight is None else "known to be empty"
        yield f"Channel contents: {quantities.counted(silent, 'channel')} {what}. {truth.why}"


def _of_times(truth: Truth) -> Iterator[str]:
    yield _fate(truth).partition(" ")[0]
    yield f"Mode: {truth.mode}"
    took = truth.rest["end_to_end_duration"]
    if truth.status == "in progress":
        yield "It was still under way when the log ends."
        yield "Took: it was still under way"
    else:
        ended = quantities.epoch(truth.triggered_at + took)
        yield f"{'Completed' if truth.status == 'completed' else 'Given up'}: {ended}"
    if truth.status == "failed":
        yield f"It was given up after {spelled(took, 'ms')}"
        yield f"Took: {quantities.duration(took, 'ms')} from the trigger until it was given up"
    yield from truth.of_tasks()


def _of_difference(before: Truth, after: Truth) -> Iterator[str]:
    yield f"State: {_change(before.state, after.state)}"
    yield f"In flight: {_change(before.in_flight, after.in_flight)}"
    yield from _of_channels(before, after)
    for truth in (before, after):
        if truth.problem:
            yield f"Notes: {truth.kind.capitalize()} {truth.id}: {truth.problem}"


def _of_channels(before: Truth, after: Truth) -> Iterator[str]:
    """Yield what is said of each channel in which one of two checkpoints has data."""
    sides = before.sizes_in_flight, after.sizes_in_flight
    absent = [(None, None) if one.in_flight is None else (0, 0) for one in (before, after)]
    pairs = [
        [side.get(ends, none) for side, none in zip(sides, absent, strict=True)]
        for ends in {**sides[0], **sides[1]}
    ]
    shown = [pair for pair in pairs if (pair[0][0], pair[1][0]) != (0, 0)]
    if shown:
        count = quantities.counted(len(shown), "channel")
        yield f"{BY_CHANNEL}: {count} with data in either"
    for (size_before, elements_before), (size_after, elements_after) in shown:
        yield f"{BY_CHANNEL}, Change: {_channel_change(size_before, size_after)}"
        yield f"{BY_CHANNEL}, Bytes: {_numbers(size_before, size_after)}"
        yield f"{BY_CHANNEL}, Records and more: {_numbers(elements_before, elements_after)}"


def _channel_change(before: int | None, after: int | None) -> str:
    if before is None or after is None:
        return "unknown"
    if not before or not after:
        return "removed" if before else "added"
    return "same size" if before == after else "changed"


def _numbers(before: int | None, after: int | None) -> str:
    words = ["not known" if one is None else f"{one:,}" for one in (before, after)]
    return words[1] if before == after else " → ".join(words)


def _size(size: int | None) -> str:
    return "not known" if size is None else quantities.file_size(size)


def _change(before: int | None, after: int | None) -> str:
    return _size(after) if before == after else f"{_size(before)} → {_size(after)}"


def _in_archive(truth: Truth) -> Iterator[str]:
    yield truth.status
    if truth.triggered_at is None:
        yield "Triggered: not known"
        yield "Took: not known"
        yield (
            "The times of single subtasks are not known: no answer of the engine’s about them came "
            "in time, and the upload has none."
        )
    size = truth.rest["state_size"] if truth.rest is not None else truth.state
    partly = "" if truth.status == "completed" else " acknowledged until then"
    uploaded = truth.rest and truth.rest.get("checkpointed_size")
    also = f", {_size(uploaded)} uploaded" if uploaded not in (None, size) else ""
    yield f"State: {_size(size)}{partly}{also}"
    if truth.status == "failed":
        took = quantities.duration(truth.rest["end_to_end_duration"], "ms")
        yield f"Took: {took} from the trigger until it was given up"
    if truth.in_flight is None:
        yield "In flight: not known"
    elif truth.rest is not None and truth.rest["persisted_data"]:
        yield f"In flight: {quantities.file_size(truth.rest['persisted_data'])}"
    else:
        yield "In flight: none"
