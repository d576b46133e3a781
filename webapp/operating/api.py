"""The operator's half of the API: people and the audit log. Everybody else gets 404."""

from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from ninja import Router, Schema

from snapshots import access
from snapshots.web.api.parameters import Limit, Offset
from snapshots.web.json import reply
from webapp.accounts import people
from webapp.accounts.payloads import AuditList, audit_item
from webapp.operating import payloads
from webapp.operating.audit_filter import AuditFilter

router = Router()


class PersonChange(Schema):
    is_active: bool | None = None
    is_operator: bool | None = None


class LimitsChange(Schema):
    """A limit that is left out stays; null lets the server's setting hold; 0 is no limit."""

    open_jobs: Any = None
    collectors: Any = None
    stored_bytes: Any = None
    retention_days: Any = None


class Taker(Schema):
    """to: the e-mail address of who gets it."""

    to: str


@router.get("/operator/people", response=payloads.PersonList)
def list_people(request: HttpRequest, limit: Limit, offset: Offset, q: str = "") -> HttpResponse:
    """Everybody with what they use, by address. q: part of the address."""
    access.require_operator(request.user)
    rows = people.people().order_by("username")
    if q:
        rows = rows.filter(username__icontains=q.replace("\0", ""))
    items = [payloads.person_item(row) for row in rows[offset : offset + limit]]
    return reply({"items": items, "total": rows.count()})


@router.get("/operator/people/{int:id}", response=payloads.PersonDetail)
def get_person(request: HttpRequest, id: int) -> HttpResponse:
    access.require_operator(request.user)
    return reply(payloads.person_detail(people.person(id)))


@router.patch("/operator/people/{int:id}", response=payloads.PersonDetail)
@transaction.atomic
def change_person(request: HttpRequest, id: int, body: PersonChange) -> HttpResponse:
    """Close or open the account; make the person an operator, or take that back."""
    access.require_operator(request.user)
    user = people.person(id)
    if body.is_active is not None and body.is_active != user.is_active:
        (people.open_again if body.is_active else people.close)(user, request.user)
    if body.is_operator is not None and body.is_operator != user.is_staff:
        (people.make_operator if body.is_operator else people.unmake_operator)(user, request.user)
    return reply(payloads.person_detail(people.person(id)))


@router.delete("/operator/people/{int:id}", response={204: None})
def delete_person(request: HttpRequest, id: int) -> HttpResponse:
    """Delete a closed account that holds no recording, topology or mapping any more."""
    access.require_operator(request.user)
    people.delete(people.person(id), request.user)
    return HttpResponse(status=204)


@router.patch("/operator/people/{int:id}/limits", response=payloads.PersonDetail)
def change_limits(request: HttpRequest, id: int, body: LimitsChange) -> HttpResponse:
    """Change what the person may use."""
    access.require_operator(request.user)
    people.allow(people.person(id), request.user, body.dict(exclude_unset=True))
    return reply(payloads.person_detail(people.person(id)))


@router.post("/operator/people/{int:id}/end-sessions", response=payloads.PersonDetail)
def end_sessions_of_person(request: HttpRequest, id: int) -> HttpResponse:
    """Sign the person out everywhere; tokens keep working."""
    access.require_operator(request.user)
    people.end_sessions(people.person(id), request.user)
    return reply(payloads.person_detail(people.person(id)))


@router.post("/operator/people/{int:id}/hand-over", response=payloads.HandOverPayload)
def hand_over(request: HttpRequest, id: int, body: Taker) -> HttpResponse:
    """Make what the person owns another person's."""
    access.require_operator(request.user)
    result = people.hand_over(people.person(id), people.named(body.to), request.user)
    return reply({"moved": result.moved, "left": result.left})


@router.get("/operator/audit", response=AuditList)
def list_audit_entries(
    request: HttpRequest,
    limit: Limit,
    offset: Offset,
    person: str = "",
    action: str = "",
    since: str = "",
    until: str = "",
) -> HttpResponse:
    """The audit log, the newest first. person: part of an address. since, until: days in UTC."""
    access.require_operator(request.user)
    entries = AuditFilter.of_query(request.GET.dict()).entries()
    items = [audit_item(entry) for entry in entries[offset : offset + limit]]
    return reply({"items": items, "total": entries.count()})
