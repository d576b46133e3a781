"""Says who is slow: the vertex that works while those that feed it wait for room.

A busy subtask alone is not slow; a source that is throttled, for one, counts as busy. What shows it
is back pressure: subtasks that wait because those behind them do not keep up. The vertex at the end
of such a chain, which itself does not wait, holds the others up.
"""

from snapshots.domain.answering.flink_job import FlinkJob
from snapshots.domain.answering.job_report import BACK_PRESSURE, JobReport, TaskLoad
from snapshots.domain.answering.sentences import LOADS, NOT_KNOWN, WATCH, WELL, Evidence, Sentence
from snapshots.domain.answering.wording import MOST_NAMED, moment, percent, span
from snapshots.domain.model.defects import times
from snapshots.domain.model.listing import listed

LEAST_BACK_PRESSURE = 0.1
"""The share of waiting above which Flink calls a subtask back-pressured."""
EXPLAINS = 0.5
"""The share of the time from which on being busy explains that others wait."""
_COMMAND = "/vertices/VERTEX/backpressure"
_WHOLE_TIME = 0.9  # of the time that a subtask ran
_LEAST_EARLIER = 0.1  # of that time, to be worth telling once it is over
_TABLE = (Evidence(LOADS, "Load of the subtasks"),)


def load(job: FlinkJob, report: JobReport) -> Sentence:
    """Say who held the others up when Flink measured, and how long they had waited."""
    if BACK_PRESSURE not in report.answers or not _measured(report):
        why = (
            "Flink had not measured it yet; ask twice, some seconds apart"
            if BACK_PRESSURE in report.answers
            else "the upload has no answers about it"
        )
        text = f"Back pressure is not known: {why}."
        return Sentence("load", text, NOT_KNOWN, upload=(job.command(_COMMAND),))
    waiting = _waiting(report)
    when = f"when Flink measured{moment(report.measured_at)}"
    unmeasured = _not_measured(report)
    if not waiting:
        return _nobody_waits(report, when)
    slow = bottlenecks(report)
    lack = f"{names(waiting)} had no room in their output {_up_to(report)}"
    if not slow:
        text = (
            f"Subtasks of {lack} {when}. Who held them up is not known: {_why_not_known(report)}."
        )
        return Sentence("load", f"{text}{unmeasured}", NOT_KNOWN, _TABLE)
    text = f"Others waited for {names(slow)} {when}: {lack}, while {_busy(report, slow)}."
    return Sentence("load", f"{text}{_since(report, slow)}{unmeasured}", WATCH, _TABLE)


def _nobody_waits(report: JobReport, when: str) -> Sentence:
    earlier = _earlier(report)
    if not report.not_measured:
        text = f"Nobody held others up {when}: no subtask was back-pressured.{earlier}"
        return Sentence("load", text, WATCH if earlier else WELL, _TABLE)
    measured = times(len(_measured(report)), "vertex", "vertices")
    text = (
        f"No subtask of the {measured} that Flink measured{moment(report.measured_at)} was "
        f"back-pressured.{earlier} Flink gave no measurement for "
        f"{names(list(report.not_measured))}, so whether others waited there is not known."
    )
    return Sentence("load", text, WATCH if earlier else NOT_KNOWN, _TABLE)


def bottlenecks(report: JobReport) -> list[str]:
    """Return the vertices that hold others up: they are fed by waiting ones and do not wait."""
    waiting, measured = _waiting(report), _measured(report)
    fed = [target for source, target in report.edges or () if source in waiting]
    return [name for name in dict.fromkeys(fed) if name in measured and name not in waiting]


def names(vertices: list[str]) -> str:
    """Return vertices in words."""
    return listed(vertices, MOST_NAMED)


def _measured(report: JobReport) -> list[str]:
    """Return the vertices for which Flink gave back pressure."""
    measured = (load.vertex for load in report.loads if load.back_pressured is not None)
    return list(dict.fromkeys(measured))


def _waiting(report: JobReport) -> list[str]:
    """Return the vertices with a back-pressured subtask."""
    return list(dict.fromkeys(load.vertex for load in report.loads if _waits(load)))


def _waits(load: TaskLoad) -> bool:
    return load.back_pressured is not None and load.back_pressured > LEAST_BACK_PRESSURE


def _up_to(report: JobReport) -> str:
    most = max((load.back_pressured or 0 for load in report.loads), default=0)
    return f"up to {percent(most)} of the time"


def _busy(report: JobReport, slow: list[str]) -> str:
    """Say how busy the subtasks were that held others up."""
    busy = [
        (load.busy, load.name)
        for load in report.loads
        if load.vertex in slow and load.busy is not None
    ]
    if not busy:
        return "Flink does not say how busy it was"
    most = max(share for share, _ in busy)
    busiest = [name for share, name in busy if share == most]
    verb = "were" if len(busiest) > 1 else "was"
    doubt = ", too little to explain that" if most < EXPLAINS else ""
    return f"{names(busiest)} {verb} busy {percent(most)} of it{doubt}"


def _since(report: JobReport, slow: list[str]) -> str:
    """Say how long the longest waiting subtask before the slow ones had waited in all."""
    feeding = {source for source, target in report.edges or () if target in slow}
    return _longest_wait(report, feeding, least=0)


def _earlier(report: JobReport) -> str:
    """Say who had waited before, though nobody waited any more."""
    return _longest_wait(report, {load.vertex for load in report.loads}, least=_LEAST_EARLIER)


def _longest_wait(report: JobReport, vertices: set[str], least: float) -> str:
    waits = [
        (load.back_pressured_ms, load.running_ms, load.name)
        for load in report.loads
        if load.vertex in vertices and load.back_pressured_ms and load.running_ms
    ]
    waited, ran, name = max(waits, default=(0, 1, ""))
    share = waited / ran
    if not name or share < least:
        return ""
    since = ", nearly since it began" if share >= _WHOLE_TIME else ""
    return f" {name} had waited {span(waited)} of the {span(ran)} that it had run{since}."


def _not_measured(report: JobReport) -> str:
    if not report.not_measured:
        return ""
    return f" For {names(list(report.not_measured))} Flink gave no measurement."


def _why_not_known(report: JobReport) -> str:
    if report.edges is None:
        return "the upload has no plan of the job"
    return "Flink gave no measurement for those that they feed"
