"""Answer which steps of Flink's flow charts a task took at each barrier, with the records since."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from snapshots.domain.dataflow_logs.barriers.course import COURSE_KINDS, Course, course_of
from snapshots.domain.dataflow_logs.events import DISCARDED
from snapshots.domain.model.derived import is_derived
from snapshots.domain.model.recording import RECEIVE
from snapshots.domain.model.topology import ChannelId, ProcessId
from snapshots.problems import NotFound
from snapshots.store.control_events import ControlEvents
from snapshots.store.layout import NONE
from snapshots.store.reader import StoredRecording

ENGINE = "flink"
MOST_EVENTS = 50_000
"""The most events of a task that are read for its course."""
MOST_TASKS = 1_000
"""Tasks to choose from."""


@dataclass(frozen=True, slots=True)
class TaskCourse:
    """The course of one task.

    Attributes:
        task: the chosen task. None if no task takes barriers.
        tasks: the tasks to choose from, at most MOST_TASKS.
        tasks_total: how many there are.
        inputs: the channels that lead to the task.
        course: its course, or the reason why it is not known.
    """

    task: ProcessId | None
    tasks: tuple[ProcessId, ...]
    tasks_total: int
    inputs: tuple[ChannelId, ...]
    course: Course


def has_charts(stored: StoredRecording) -> bool:
    """Tell whether a recording is a log of Flink, whose charts are drawn."""
    return not _why_none(stored)


def course(stored: StoredRecording, task: str = "") -> TaskCourse:
    """Return the course of a task; without a name that of the task with the most inputs.

    Raises: NotFound if there is no such task.
    """
    reader = ControlEvents(stored.tables)
    incoming = stored.topology.incoming
    fed = [name for name in reader.plan.tasks if incoming[name]]
    if task and task not in reader.plan.tasks:
        raise NotFound(f"There is no task “{task[:80]}” in this recording.")
    chosen = (
        ProcessId(task) if task else max(fed, key=lambda name: len(incoming[name]), default=None)
    )
    inputs = () if chosen is None else tuple(channel.id for channel in incoming[chosen])
    found = _course(stored, reader, chosen, inputs)
    return TaskCourse(chosen, tuple(fed[:MOST_TASKS]), len(fed), inputs, found)


def _course(
    stored: StoredRecording,
    reader: ControlEvents,
    task: ProcessId | None,
    inputs: tuple[ChannelId, ...],
) -> Course:
    why_none = _why_none(stored)
    if why_none or task is None:
        return Course(None, why_not=why_none or "No channel leads to any task.")
    count = reader.count_of_task(task, COURSE_KINDS)
    if count > MOST_EVENTS:
        why = f"{task} has {count:,} events of checkpoints; for at most {MOST_EVENTS:,} the steps "
        return Course(None, why_not=f"{why}are worked out.")
    modes = {item["checkpoint"]: item["mode"] for item in stored.checkpoints()}
    return course_of(task, inputs, reader.of_task(task, COURSE_KINDS), modes)


def _why_none(stored: StoredRecording) -> str:
    extra = stored.manifest.header_extra
    if extra.get("engine", ENGINE) != ENGINE:
        return f"The charts are those of Flink, and this recording is of {extra['engine']}."
    if not stored.is_dataflow:
        return "The charts are those of Flink’s tasks, and this recording is of no dataflow."
    if is_derived(extra):
        return (
            "The recording is put together from the engine’s statistics and files. They tell when "
            "a task’s first and last barrier came, but not on which channel, or which was blocked."
        )
    return ""


def taken(
    stored: StoredRecording, task: ProcessId, after: int, before: int | None
) -> Mapping[ChannelId, int]:
    """Return how many records a task took from each channel between two of its events.

    Args:
        after: the index of the first event.
        before: that of the second; None for the end of the log.
    """
    tables = stored.tables
    rows = tables.events.pick_run(tables.process_code(task), after + 1, before)
    kept = np.isin(rows.values("kind"), tables.kind_codes((RECEIVE,)))
    kept &= rows.find("label", pa.array([DISCARDED], pa.large_string())) == NONE
    codes, counts = np.unique(rows.values("channel")[kept], return_counts=True)
    names = stored.topology.channels
    return {
        names[code].id: count
        for code, count in zip(codes.tolist(), counts.tolist(), strict=True)
        if code != NONE
    }
