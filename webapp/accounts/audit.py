"""The audit log: who did what, when, from where. Entries are added and read, nothing else."""

from typing import Any

from django.http import HttpRequest

from webapp.accounts.models import AuditEntry


def note(
    action: str, actor, subject: str = "", *, request: HttpRequest | None = None, **detail: Any
) -> AuditEntry:
    """Add an entry to the audit log, in the transaction that is open.

    Args:
        action: what was done, such as ``signed-in``.
        actor: the person; None for the server itself or its shell.
        subject: what it was done to, in words that outlive it: ``recording 7 “two banks”``.
        request: where the client's address is read from.
        detail: further members, as JSON.
    """
    return AuditEntry.objects.create(
        actor_id=actor.pk if actor is not None else None,
        actor=actor.get_username() if actor is not None else "",
        action=action,
        subject=subject[:200],
        address=client_address(request),
        detail=detail,
    )


def client_address(request: HttpRequest | None) -> str:
    """Return the address of the client that sent ``request``; empty in the shell."""
    return (request.META.get("REMOTE_ADDR") or "") if request is not None else ""
