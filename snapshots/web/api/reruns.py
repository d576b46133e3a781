"""The calls that run a simulated recording again: without snapshots, or with a rule broken."""

from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from snapshots import access
from snapshots.answers import reruns
from snapshots.models import Job
from snapshots.payloads.recordings import Accepted
from snapshots.services.simulations import request_rerun
from snapshots.web.api.parameters import RecordingId
from snapshots.web.json import reply
from webapp.edge.idempotency import DOCUMENTED, idempotent

router = Router()

Seed = Annotated[int | None, Query(description="Another seed; by default that of the recording.")]
Rule = Annotated[
    str,
    Query(description="The parameter that breaks the rule, one of those in `GET /marker-rules`."),
]
At = Annotated[str, Query(description="The channel or process at which it is broken.")]


@router.get("/recordings/{int:id}/side-by-side", response=reruns.SideBySideDetail)
def get_side_by_side(request: HttpRequest, id: RecordingId, seed: Seed = None) -> HttpResponse:
    """Run a simulated recording again with and without snapshots, and compare the computations.

    The same seed gives the same computation, event for event; the answer says what the snapshots
    add. Where the two differ it says the first event that does. At most 1,000 rows are given.
    """
    recording = access.recording(request.user, id)
    return reply(reruns.side_by_side(recording, reruns.rerun(recording, seed)))


@router.get("/recordings/{int:id}/broken-rule", response=reruns.BrokenRuleDetail)
def get_broken_rule(
    request: HttpRequest, id: RecordingId, rule: Rule, at: At, seed: Seed = None
) -> HttpResponse:
    """Run a simulated recording again with a marker rule broken, and judge its snapshots.

    The answer has the verdict with its witnesses beside the verdict by the rules, or says that with
    this seed nothing went wrong.
    """
    recording = access.recording(request.user, id)
    return reply(reruns.broken_rule(recording, reruns.rerun(recording, seed), rule, at))


@router.get("/marker-rules", response=reruns.MarkerRuleList)
def list_marker_rules(request: HttpRequest) -> HttpResponse:
    """List the ways to break the two marker rules of Chandy and Lamport (section 3.2)."""
    return reply(reruns.rules())


@router.get("/learn/side-by-side", response=reruns.SideBySideDetail)
def get_demonstration(request: HttpRequest, seed: Seed = None) -> HttpResponse:
    """Compare the run of three banks with and without its snapshot, as the page in Learn does."""
    return reply(reruns.side_by_side(None, reruns.rerun(None, seed)))


@router.get("/learn/broken-rule", response=reruns.BrokenRuleDetail)
def get_broken_demonstration(
    request: HttpRequest, rule: Rule, at: At, seed: Seed = None
) -> HttpResponse:
    """Break a marker rule in the run of three banks, as the page in Learn does."""
    return reply(reruns.broken_rule(None, reruns.rerun(None, seed), rule, at))


@router.post(
    "/recordings/{int:id}/broken-rule",
    response={202: Accepted},
    openapi_extra=DOCUMENTED,
    summary="Keep a run with a broken rule",
)
@idempotent
def keep_broken_rule(
    request: HttpRequest, id: RecordingId, rule: Rule, at: At, seed: Seed = None
) -> HttpResponse:
    """Simulate the run with the broken rule as a recording of its own."""
    recording = access.recording(request.user, id)
    broken = reruns.rerun(recording, seed).breaking(rule, at)
    owner = access.run_holder(request.user, recording)
    return _accepted(request_rerun(owner, recording, broken, f"{rule} at {at}", request.user))


@router.post(
    "/learn/broken-rule",
    response={202: Accepted},
    openapi_extra=DOCUMENTED,
    summary="Keep a run of the demonstration with a broken rule",
)
@idempotent
def keep_broken_demonstration(
    request: HttpRequest, rule: Rule, at: At, seed: Seed = None
) -> HttpResponse:
    """Simulate the run of three banks with the broken rule as a recording."""
    broken = reruns.rerun(None, seed).breaking(rule, at)
    return _accepted(request_rerun(request.user, None, broken, f"{rule} at {at}"))


def _accepted(job: Job) -> HttpResponse:
    return reply({"id": job.recording_id, "job": job.pk}, 202)
