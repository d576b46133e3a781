"""Compare the same failure under different failover strategies, side by side."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
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

UNDER_WAY = (Recording.Status.QUEUED, Recording.Status.RUNNING)
MOST_COMPARED = 10


@page
@require_POST
def begin(request: HttpRequest, pk: int) -> HttpResponse:
    """Run the recording's simulation once for each strategy, and show the comparison."""
    recording = access.recording(request.user, pk)
    try:
        jobs = request_failover_comparison(request.user, recording)
    except Conflict as conflict:
        return back(request, reverse("checkpoints", args=[pk]), conflict)
    ids = ",".join(str(job.recording_id) for job in jobs)
    return redirect(f"{reverse('compare')}?{urlencode({'recordings': ids})}")


@page
@require_safe
def compare(request: HttpRequest) -> HttpResponse:
    """Show a row for each recording of ``?recordings=1,2,3``, in this order."""
    ids = [part for part in request.GET.get("recordings", "").split(",") if part]
    if not ids or len(ids) > MOST_COMPARED or not all(part.isdecimal() for part in ids):
        raise Invalid(
            f"Name 1 to {MOST_COMPARED} recordings: ?recordings=4,5,6.", field="recordings"
        )
    rows = [access.recording(request.user, int(part[:18])) for part in ids]
    outcomes = outcomes_of(rows)
    context = {
        "rows": [{**_row(recording), "outcomes": outcomes[recording.pk]} for recording in rows],
        "waiting": sum(recording.status in UNDER_WAY for recording in rows),
    }
    return render(request, "snapshots/recordings/compare.html", context)


def _row(recording: Recording) -> dict[str, Any]:
    """Return a recording with its first failure, which is None if it is not ready or has none."""
    failures = open_recording(recording).failovers()["items"] if recording.is_ready else []
    return {
        "recording": recording,
        "failure": next(iter(compare_failures(failures[:1])), None),
    }
