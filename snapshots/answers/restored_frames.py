"""Answer what a player of a restored run shows next: frames with both sides.

The axis is the number of places of ``RestoredRun``. Each frame has all that both sides show at its
end, so that nothing is judged or added up in the browser.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from snapshots.answers import restored_pictures as pictures
from snapshots.answers.restored_rows import rows_at, sums_at
from snapshots.answers.restored_run import Opened, open_run
from snapshots.domain.model.defects import times
from snapshots.domain.replaying.restored_run import Fault
from snapshots.growing.recording import SoFar
from snapshots.payloads.restored import RestoredEnding, RestoredFault, RestoredFrame
from snapshots.problems import Conflict, Invalid
from snapshots.store.reader import StoredRecording
from snapshots.store.tables import ORDER

TITLES = ("The system is emptied", "States are set", "Channels are filled", "On it goes")
MOST_SAID = 4  # sentences of a frame that passes several places


@dataclass(frozen=True)
class Restored:
    """What a player of a restored run shows; ``axis`` is that of places."""

    snapshot: str
    opened: Opened = field(compare=False, hash=False)
    axis: str = ORDER


def watched(stored: StoredRecording, question: Mapping[str, Any]) -> Restored:
    """Return what a question wants to be shown. Raises: Conflict, Invalid, NotFound."""
    snapshot = question["restored"]
    if not isinstance(snapshot, str):
        raise Invalid("restored is the id of a snapshot.", field="restored")
    if isinstance(stored, SoFar):
        raise Conflict("Close the recording first: of an open one, more may come.")
    return Restored(snapshot, open_run(stored, snapshot))


def end_of(what: Restored) -> float:
    """Return the last place."""
    return float(what.opened.run.end)


def edge_after(what: Restored, place: float, width: float) -> float:
    """Return where the frame after a place ends: at the next edge of the grid, or at a beat."""
    edge = (math.floor(place / width) + 1) * width
    ends = (beat for beat in what.opened.run.beats if place < beat < edge)
    return min(next(ends, edge), end_of(what))


def frame(what: Restored, place: float | None, to: float) -> dict[str, Any]:
    """Return a frame from one place to another; a key frame if ``place`` is None."""
    run = what.opened.run
    to = min(max(to, 0.0), end_of(what))
    return {
        "axis": what.axis,
        "from": place,
        "at": to,
        "ends": to >= run.end,
        "exact": True,
        "events_total": 0 if place is None else math.floor(to) - math.floor(place),
        "restored": _restored(what.opened, None if place is None else max(place, -1.0), to),
    }


def _restored(opened: Opened, place: float | None, to: float) -> RestoredFrame:
    run, here = opened.run, math.floor(to)
    page = pictures.page_of(run, here)
    is_new = place is None or pictures.page_of(run, math.floor(place)) != page
    faults = [fault for fault in run.faults if fault.place <= here]
    fresh = [fault for fault in faults if place is None or fault.place > place]
    rows, differ, counted = rows_at(run, here)
    return {
        "beat": run.beat(here),
        "title": TITLES[run.beat(here) - 1],
        "sentence": _said(opened, place, here),
        "faults": [_fault(fault) for fault in faults[: pictures.MOST_FAULTS]],
        "is_fault": any(place is not None or fault.place == here for fault in fresh),
        "sums": sums_at(run, here),
        "rows": rows,
        "differ": differ,
        "counted": counted,
        "ending": ending_of(opened) if here >= run.end else None,
        "moving": pictures.moving(run, page, to),
        "pictures": pictures.still(run, page) if is_new else None,
    }


def _said(opened: Opened, place: float | None, here: int) -> str:
    """Return what happened since the frame before, the last of it at least."""
    run = opened.run
    first = here if place is None else min(math.floor(place) + 1, here)
    faults = [fault.sentence for fault in run.faults if first <= fault.place <= here]
    passed = range(max(first, here - MOST_SAID + 1), here + 1)
    return " ".join([*(run.step(each).sentence for each in passed), *faults[:MOST_SAID]])


def _fault(fault: Fault) -> RestoredFault:
    return {"place": fault.place, "kind": fault.kind, "sentence": fault.sentence}


def ending_of(opened: Opened) -> RestoredEnding:
    """Return how the two ends compare; ``alike`` is null where that is not known."""
    report, course = opened.report, opened.run.course
    more = f" {course.left_out:,} further events were replayed, and are not shown."
    behind = (more if course.left_out else "") + _going_back(opened)
    if report["first_difference"] is not None:
        first = report["first_difference"]["sentence"]
        return {"alike": False, "sentence": f"They end apart.{behind} {first}"}
    if report["not_known"] is not None:
        return {"alike": None, "sentence": report["not_known"] + behind}
    unknown = report["states_unknown"]
    states = len(course.topology.processes) - unknown
    rest = f" {times(unknown, 'state is', 'states are')} not known." if unknown else ""
    return {
        "alike": True,
        "sentence": (
            f"Both end alike: the same {times(states, 'state')}, the same messages in all "
            f"channels, and every process has done the same events.{rest}{behind}"
        ),
    }


def _going_back(opened: Opened) -> str:
    """Say with which restore the log goes back, so that it was followed until then."""
    back = opened.back
    if back is None:
        return ""
    snapshot = opened.run.course.snapshot
    to = "the start" if back.snapshot is None else f"snapshot {back.snapshot}"
    own = (
        " Its own restored run stands in the log behind that." if back.snapshot == snapshot else ""
    )
    return (
        f" They are followed until the system goes back to {to}, with epoch {back.epoch} of the "
        f"log.{own}"
    )
