"""Sessions in the database, under the hash of their key: who reads the table can use none."""

from django.contrib.sessions.backends.db import SessionStore as DatabaseSessions

from webapp.accounts.models import Session


class SessionStore(DatabaseSessions):
    """Django's sessions in the database; rows carry the hash of the cookie, and the person."""

    @classmethod
    def get_model_class(cls):
        return Session
