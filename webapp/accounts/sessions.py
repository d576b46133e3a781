"""Store sessions under the hash of their key, so that nobody who reads the table can use one."""

import hashlib
from datetime import timedelta

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessions
from django.utils import timezone

from webapp.accounts.closing import announce_ended
from webapp.accounts.models import Session
from webapp.edge.optional_writes import optionally

LAST_USED_PRECISION = timedelta(minutes=1)


def key_hash(session_key: str) -> str:
    """Return the SHA-256 under which the database stores a session.

    The key has 165 random bits, so it needs no slow hash.
    """
    return hashlib.sha256(session_key.encode()).hexdigest()


class SessionStore(DatabaseSessions):
    """Django's sessions in the database, in rows with the hash of the key and the person."""

    # Django's asynchronous half would look rows up by the key itself.
    acreate = SessionBase.acreate
    adelete = SessionBase.adelete
    aexists = SessionBase.aexists
    aload = SessionBase.aload
    asave = SessionBase.asave

    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    def _get_session_from_db(self) -> Session | None:
        assert self.session_key is not None  # Django loads only sessions that have a key
        row = Session.objects.filter(
            session_key=key_hash(self.session_key), expire_date__gt=timezone.now()
        ).first()
        if row is None:
            self._session_key = None
        else:
            _note_use(row)
        return row

    def exists(self, session_key: str) -> bool:
        return super().exists(key_hash(session_key))

    def create_model_instance(self, data: dict) -> Session:
        row = super().create_model_instance(data)
        assert isinstance(row, Session)  # as ``get_model_class`` says
        row.session_key = key_hash(row.session_key)
        row.user_id = data.get(SESSION_KEY)
        return row

    def delete(self, session_key: str | None = None) -> None:
        session_key = session_key or self.session_key
        if session_key is None:
            return
        super().delete(key_hash(session_key))
        announce_ended(key_hash(session_key))


def _note_use(row: Session) -> None:
    """Note the use to the minute; a page is shown even if that cannot be written."""
    now = timezone.now()
    if row.last_used_at is not None and now - row.last_used_at <= LAST_USED_PRECISION:
        return
    same = Session.objects.filter(pk=row.pk)
    optionally(lambda: same.update(last_used_at=now))
