"""Answer how a SeaTunnel job is planned, and how each of its pipelines started."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from snapshots.domain.dataflow_logs.pipelines import PipelinePlan, pipelines_of
from snapshots.domain.dataflow_logs.start_protocol import START_KINDS, Start, starts_of
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.model.values import parsed
from snapshots.store.control import MOST_TELLING
from snapshots.store.control_events import ControlEvents
from snapshots.store.reader import StoredRecording

ENGINE = "seatunnel"


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """The plan of a job.

    Attributes:
        pipelines: the plan of each pipeline.
        starts: for each pipeline, its starts; none where the log has too many events.
        why_no_starts: why the starts are not told, as a sentence. None if they are.
    """

    pipelines: tuple[PipelinePlan, ...]
    starts: tuple[tuple[Start, ...], ...]
    why_no_starts: str | None = None


def is_planned(header_extra: Mapping[str, Any]) -> bool:
    """Tell whether a recording is of SeaTunnel, whose jobs have a plan."""
    return header_extra.get("engine") == ENGINE


def plan_of_job(stored: StoredRecording) -> PlanAnswer:
    """Return the plan of a job; for other recordings none, and the reason."""
    extra = stored.manifest.header_extra
    if not is_planned(extra):
        return PlanAnswer((), (), "Only a recording of SeaTunnel has a plan in these words.")
    reader = ControlEvents(stored.tables)
    count = len(reader.telling[0])
    if count > MOST_TELLING:
        why = f"The log has {count:,} events of checkpoints; starts are told of {MOST_TELLING:,}."
        pipelines = pipelines_of(reader.plan, extra.get("dataflow"), (), has_state(stored))
        return PlanAnswer(pipelines, tuple(() for _ in pipelines), why)
    triggers = reader.of_kinds(START_KINDS)
    works = (event for event in reader.read() if event.kind not in START_KINDS)
    events = sorted([*triggers, *works], key=lambda event: event.step)
    pipelines = pipelines_of(reader.plan, extra.get("dataflow"), triggers, has_state(stored))
    is_derived = reader.plan.is_derived
    starts = tuple(starts_of(each, events, is_derived=is_derived) for each in pipelines)
    return PlanAnswer(pipelines, starts)


def has_state(stored: StoredRecording) -> dict[ProcessId, bool]:
    """Tell of each process that recorded a state whether the last one was not empty."""
    tables = stored.tables
    _, codes, indices = tables.record_order
    last = np.full(len(tables.all_processes), -1)
    np.maximum.at(last, codes, indices)
    own = np.flatnonzero(last >= 0)
    texts = tables.events.pick(own, last[own]).json("state")
    return {
        tables.topology.processes[code].id: _is_filled(parsed(text))
        for code, text in zip(own.tolist(), texts, strict=True)
        if text is not None
    }


def _is_filled(state: Any) -> bool:
    """Tell whether a state holds anything: an object of empty parts holds nothing."""
    if isinstance(state, Mapping):
        return any(_is_filled(part) for part in state.values())
    return state not in (None, "", [], 0)
