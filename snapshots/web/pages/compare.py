"""Compare recordings side by side, such as one failure under different failover strategies."""

from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST, require_safe

from snapshots import access
from snapshots.answers.outcomes import outcomes_of
from snapshots.domain.dataflow_logs.failovers.report import compare as compare_failures
from snapshots.files.recordings import open_recording
from snapshots.models import Recording
from snapshots.problems import Conflict, Invalid
from snapshots.services.simulations import request_failover_comparison
from snapshots.web.pages.rendering import back, page
from snapshots.web.tables.sending import show

UNDER_WAY = (Recording.Status.QUEUED, Recording.Status.RUNNING)
MOST_COMPARED = 10


@page
@require_POST
def begin(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Run the recording's simulation once for each strategy, and show the comparison."""
    recording = access.recording(request.user, pk)
    try:
        owner = access.run_holder(request.user, recording)
        jobs = request_failover_comparison(owner, recording, request.user)
    except Conflict as conflict:
        return back(request, reverse("checkpoints", args=[pk]), conflict)
    ids = ",".join(str(job.recording_id) for job in jobs)
    return redirect(f"{reverse('compare')}?{urlencode({'recordings': ids})}")


@page
@require_safe
def compare(request: HttpRequest) -> HttpResponseBase:
    """Show a row for each recording of ``?recordings=1,2,3`` or ``?recordings=1&recordings=2``."""
    rows = [access.recording(request.user, int(part[:18])) for part in _ids(request)]
    outcomes = outcomes_of(rows)
    failures = [_row(recording) for recording in rows]
    context = {
        "compared": [
            {"recording": recording, "outcomes": outcomes[recording.pk]} for recording in rows
        ],
        "rows": failures,
        "has_failures": any(row["failure"] for row in failures),
        "is_same_run": _differ_in(_runs(rows)) == ["failover"],
        "parameters": _parameters(rows),
        "event_by_event": _event_by_event(rows),
        "waiting": sum(recording.status in UNDER_WAY for recording in rows),
    }
    return show(request, "snapshots/recordings/compare.html", context)


def _event_by_event(rows: list[Recording]) -> str:
    """Return where two recordings are compared event by event, the older one on the left.

    It is empty unless two recordings are given that are ready.
    """
    if len(rows) != 2 or not all(row.is_ready for row in rows):
        return ""
    older, newer = sorted(rows, key=lambda row: row.pk)
    query = {"left": older.pk, "right": newer.pk}
    return f"{reverse('compare-two')}?{urlencode(query)}"


def _ids(request: HttpRequest) -> list[str]:
    """Return the numbers in the address, each once. Raises: Invalid."""
    texts = ",".join(request.GET.getlist("recordings")).split(",")
    ids = [part for part in texts if part]
    if not ids:
        raise Invalid(
            "Tick the recordings to compare in the list of recordings, or name them: "
            "?recordings=4,5,6.",
            field="recordings",
        )
    if len(ids) > MOST_COMPARED or not all(part.isdecimal() for part in ids):
        raise Invalid(
            f"Name 1 to {MOST_COMPARED} recordings: ?recordings=4,5,6.", field="recordings"
        )
    return list(dict.fromkeys(ids))


def _runs(rows: list[Recording]) -> list[dict[str, Any]]:
    """Return the parameters of each run; empty if a recording is no simulated run."""
    parameters = [row.parameters or {} for row in rows]
    return parameters if all("protocol" in own for own in parameters) else []


def _differ_in(runs: list[dict[str, Any]]) -> list[str]:
    """Return the names of the parameters that differ between simulated runs."""
    names = sorted({name for own in runs for name in own})
    return [name for name in names if any(own.get(name) != runs[0].get(name) for own in runs)]


def _parameters(rows: list[Recording]) -> list[dict[str, Any]]:
    """Return each parameter that differs with its value in every run."""
    runs = _runs(rows)
    return [{"name": name, "values": [own.get(name) for own in runs]} for name in _differ_in(runs)]


def _row(recording: Recording) -> dict[str, Any]:
    """Return a recording with its first failure, which is None if it is not ready or has none."""
    failures = open_recording(recording).failovers()["items"] if recording.is_ready else []
    return {
        "recording": recording,
        "failure": next(iter(compare_failures(failures[:1])), None),
    }
