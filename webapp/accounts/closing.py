"""End sessions, and notify the listeners of ``signals`` after the commit."""

from functools import partial

from django.db import transaction

from webapp.accounts.models import Session
from webapp.accounts.signals import account_closed, session_ended


def announce_ended(key_hash: str) -> None:
    """Send ``session_ended`` after the commit; a listener's failure is logged."""
    send = partial(session_ended.send_robust, sender=Session, key_hash=key_hash)
    transaction.on_commit(send, robust=True)


def announce_closed(user) -> None:
    """Send ``account_closed`` after the commit; a listener's failure is logged."""
    send = partial(account_closed.send_robust, sender=type(user), user_id=user.pk)
    transaction.on_commit(send, robust=True)


@transaction.atomic
def end_session(session: Session) -> None:
    """Sign the session's browser out."""
    key_hash = session.session_key
    session.delete()
    announce_ended(key_hash)


@transaction.atomic
def end_sessions(user, *, keep: str | None = None) -> int:
    """End all sessions of a person, except the one with the hash ``keep``; return their number."""
    ending = list(user.sessions.exclude(session_key=keep or ""))
    for session in ending:
        end_session(session)
    return len(ending)
