"""The payload of what tasks and coordinators do in a window, for the lanes of the diagram."""

from typing import Any

import numpy as np
from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.domain.dataflow_logs.control.activity import BESIDE, DOINGS, DOWN, FINISHED
from snapshots.domain.dataflow_logs.control.signals import SIGNALS
from snapshots.payloads.arrays import TypedArray, typed_array
from snapshots.payloads.declaring import described
from snapshots.store.control import Control, DoingRows, SignalRows
from snapshots.store.layout import IN_FLIGHT
from snapshots.store.manifest import Extent
from snapshots.store.mapped import Ints
from snapshots.store.tables import TIME
from snapshots.store.windows import Window

MOST_DOINGS = 4_000
MOST_SIGNALS = 4_000


@described
class DoingColumns(TypedDict):
    """What tasks do, with one entry for each task and doing, in the order in which it begins.

    Attributes:
        process: the code of the task.
        what: the place of the doing in ``doing_names``.
        snapshot: the code of the checkpoint for which the task does it; -1 if for none.
        channel: the code of the channel that is blocked; -1 for all other doings.
        since: where it begins on the axis.
        until: where it ends on the axis; the end of the recording if the log ends before.
    """

    process: TypedArray
    what: TypedArray
    snapshot: TypedArray
    channel: TypedArray
    since: TypedArray
    until: TypedArray


@described
class SignalColumns(TypedDict):
    """What coordinators and tasks say to each other, in the order of sending.

    Attributes:
        kind: the place of the kind in ``signal_names``; an ``ack`` or ``decline`` goes to the
            coordinator, the others come from it.
        coordinator: the code of the coordinator.
        task: the code of the task.
        snapshot: the code of the checkpoint that it is about.
        lost: 1 where the log says that it arrives nowhere, else 0.
        sent: where it is sent on the axis.
        arrived: where it arrives on the axis; not a number where the log does not say. Of ``ack``
            and ``decline`` no log does.
    """

    kind: TypedArray
    coordinator: TypedArray
    task: TypedArray
    snapshot: TypedArray
    lost: TypedArray
    sent: TypedArray
    arrived: TypedArray


@described
class ControlPayload(TypedDict):
    """What the tasks and the coordinator of a dataflow do in a window.

    Attributes:
        coordinators: the codes of the processes that are coordinators.
        doing_names: what a task can be doing.
        signal_names: the kinds of what is said.
        doings: what tasks do.
        doings_hidden: how many of the shortest are left out, because there are too many.
        signals: what is said; nothing where that is too much.
        signals_total: how much is said in the window, listed or not.
        why_not: why nothing is told, as a sentence; null if it is, or if the log has no tasks.
    """

    coordinators: list[int]
    doing_names: list[str]
    signal_names: list[str]
    doings: DoingColumns
    doings_hidden: int
    signals: SignalColumns
    signals_total: int
    why_not: str | None


def control_payload(control: Control, window: Window, extent: Extent) -> dict[str, Any]:
    """Return what is done and said in a window, as ControlPayload."""
    doings, signals = control.doings, control.signals
    end = extent.to if window.axis == TIME else extent.steps + 1
    until = np.minimum(doings.until.on(window.axis), max(end, window.from_))
    rows = np.flatnonzero((doings.since.on(window.axis) <= window.to) & (until >= window.from_))
    kept = _longest(doings, rows, until - doings.since.on(window.axis))
    ends = _ends(signals, window.axis)
    said = np.flatnonzero((signals.sent.on(window.axis) <= window.to) & (ends >= window.from_))
    return {
        "coordinators": list(control.coordinators),
        "doing_names": list(DOINGS),
        "signal_names": list(SIGNALS),
        "doings": _doing_columns(doings, kept, window.axis, until),
        "doings_hidden": len(rows) - len(kept),
        "signals": _signal_columns(
            signals, said if len(said) <= MOST_SIGNALS else said[:0], window.axis
        ),
        "signals_total": len(said),
        "why_not": control.why_not,
    }


def _longest(doings: DoingRows, rows: Ints, lengths: Ints) -> Ints:
    """Return the rows that are sent: that a task is down or has finished is never left out."""
    if len(rows) <= MOST_DOINGS:
        return rows
    kept = np.isin(doings.what[rows], [DOINGS.index(DOWN), DOINGS.index(FINISHED)])
    beside = np.isin(doings.what[rows], [DOINGS.index(name) for name in BESIDE])
    order = np.lexsort((-lengths[rows], beside, ~kept))
    found: Ints = np.sort(rows[order[:MOST_DOINGS]])
    return found


def _ends(signals: SignalRows, axis: str) -> Ints:
    arrived = signals.arrived.on(axis)
    return np.where(arrived == IN_FLIGHT, signals.sent.on(axis), arrived)


def _doing_columns(doings: DoingRows, rows: Ints, axis: str, until: Ints) -> dict[str, Any]:
    columns = {
        name: typed_array(getattr(doings, name)[rows])
        for name in ("process", "what", "snapshot", "channel")
    }
    since = doings.since.on(axis)
    return columns | {
        "since": typed_array(since[rows].astype(np.float64)),
        "until": typed_array(until[rows].astype(np.float64)),
    }


def _signal_columns(signals: SignalRows, rows: Ints, axis: str) -> dict[str, Any]:
    columns = {
        name: typed_array(getattr(signals, name)[rows])
        for name in ("kind", "coordinator", "task", "snapshot", "lost")
    }
    arrived = signals.arrived.on(axis)[rows]
    return columns | {
        "sent": typed_array(signals.sent.on(axis)[rows].astype(np.float64)),
        "arrived": typed_array(np.where(arrived == IN_FLIGHT, np.nan, arrived)),
    }
