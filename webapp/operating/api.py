"""The calls for operators: people, teams and the audit log. Everybody else gets 404."""

from typing import Annotated, Any

from django.db import transaction
from django.http import HttpResponse
from ninja import Field, Query, Router, Schema

from snapshots import access
from snapshots.web.api.parameters import Limit, Offset, PersonId, TeamId
from snapshots.web.json import reply, reply_page
from webapp.accounts import deleting, people
from webapp.accounts.auth import SignedInRequest
from webapp.accounts.payloads import AuditList, audit_item
from webapp.operating import payloads
from webapp.operating.audit_filter import AuditFilter

router = Router()


class PersonChange(Schema):
    """What changes about a person; what is left out stays."""

    is_active: bool | None = Field(None, description="False closes the account, true opens it.")
    is_operator: bool | None = Field(None, description="Whether the person is an operator.")


class LimitsChange(Schema):
    """Limits of a person or a team. What is left out stays.

    Null means the server's setting, and 0 that there is no limit.
    """

    open_jobs: Any = Field(None, description="How many jobs may be open at once.")
    collectors: Any = Field(None, description="How many collectors there may be.")
    stored_bytes: Any = Field(None, description="How many bytes uploads and stores may take.")
    retention_days: Any = Field(None, description="Days after which a recording is removed.")


class Taker(Schema):
    """Who gets what a person owns."""

    to: str = Field(description="The e-mail address of the other person.")


@router.get("/operator/people", response=payloads.PersonList)
def list_people(
    request: SignedInRequest,
    limit: Limit,
    offset: Offset,
    q: Annotated[str, Query(description="Part of the e-mail address; empty for all.")] = "",
) -> HttpResponse:
    """List everybody with what they use, by e-mail address."""
    access.require_operator(request.user)
    rows = people.people().order_by("username")
    if q:
        rows = rows.filter(username__icontains=q.replace("\0", ""))
    return reply_page(rows, offset, limit, payloads.person_item)


@router.get("/operator/people/{int:id}", response=payloads.PersonDetail)
def get_person(request: SignedInRequest, id: PersonId) -> HttpResponse:
    """Return a person with what they use and may use."""
    access.require_operator(request.user)
    return reply(payloads.person_detail(people.person(id)))


@router.patch("/operator/people/{int:id}", response=payloads.PersonDetail)
@transaction.atomic
def change_person(request: SignedInRequest, id: PersonId, body: PersonChange) -> HttpResponse:
    """Close or open an account; make the person an operator, or take that back."""
    access.require_operator(request.user)
    user = people.person(id)
    if body.is_active is not None and body.is_active != user.is_active:
        (people.open_again if body.is_active else people.close)(user, request.user)
    if body.is_operator is not None and body.is_operator != user.is_staff:
        (people.make_operator if body.is_operator else people.unmake_operator)(user, request.user)
    return reply(payloads.person_detail(people.person(id)))


@router.delete("/operator/people/{int:id}", response={204: None})
def delete_person(request: SignedInRequest, id: PersonId) -> HttpResponse:
    """Delete a closed account that holds no recording, topology, mapping or review any more.

    Its collectors and archived jobs go with it; `goes_with_account` of the person lists all. If
    others wrote notes on its archived jobs, they must be handed over first.
    """
    access.require_operator(request.user)
    deleting.delete(people.person(id), request.user)
    return HttpResponse(status=204)


@router.patch("/operator/people/{int:id}/limits", response=payloads.PersonDetail)
def change_limits(request: SignedInRequest, id: PersonId, body: LimitsChange) -> HttpResponse:
    """Change what a person may use."""
    access.require_operator(request.user)
    people.allow(people.person(id), request.user, body.dict(exclude_unset=True))
    return reply(payloads.person_detail(people.person(id)))


@router.post("/operator/people/{int:id}/end-sessions", response=payloads.PersonDetail)
def end_sessions_of_person(request: SignedInRequest, id: PersonId) -> HttpResponse:
    """Sign a person out everywhere. Tokens keep working."""
    access.require_operator(request.user)
    people.end_sessions(people.person(id), request.user)
    return reply(payloads.person_detail(people.person(id)))


@router.post("/operator/people/{int:id}/hand-over", response=payloads.HandOverPayload)
def hand_over(request: SignedInRequest, id: PersonId, body: Taker) -> HttpResponse:
    """Give everything that a person owns to another person."""
    access.require_operator(request.user)
    result = people.hand_over(people.person(id), people.named(body.to), request.user)
    return reply({"moved": result.moved, "left": result.left})


@router.get("/operator/teams", response=payloads.TeamUsageList)
def list_all_teams(request: SignedInRequest, limit: Limit, offset: Offset) -> HttpResponse:
    """List all teams with what they use and may use, by name."""
    access.require_operator(request.user)
    return reply_page(people.team_accounts(), offset, limit, payloads.team_usage)


@router.get("/operator/teams/{int:id}", response=payloads.TeamUsage)
def get_usage_of_team(request: SignedInRequest, id: TeamId) -> HttpResponse:
    """Return a team with what it uses and may use."""
    access.require_operator(request.user)
    return reply(payloads.team_usage(people.team_account(id)))


@router.patch("/operator/teams/{int:id}/limits", response=payloads.TeamUsage)
def change_limits_of_team(request: SignedInRequest, id: TeamId, body: LimitsChange) -> HttpResponse:
    """Change what a team may use."""
    access.require_operator(request.user)
    people.allow(people.team_account(id), request.user, body.dict(exclude_unset=True))
    return reply(payloads.team_usage(people.team_account(id)))


@router.get("/operator/audit", response=AuditList)
def list_audit_entries(
    request: SignedInRequest,
    limit: Limit,
    offset: Offset,
    person: Annotated[str, Query(description="Part of an e-mail address; empty for all.")] = "",
    action: Annotated[str, Query(description="The action; empty for all.")] = "",
    since: Annotated[str, Query(description="The first day, in UTC, as 2026-11-22.")] = "",
    until: Annotated[str, Query(description="The last day, in UTC, as 2026-11-22.")] = "",
) -> HttpResponse:
    """List the entries of the audit log, newest first."""
    access.require_operator(request.user)
    entries = AuditFilter.of_query(request.GET.dict()).entries()
    return reply_page(entries, offset, limit, audit_item)
