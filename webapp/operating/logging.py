"""Write log lines as text or JSON, each with its request, person and job.

Secrets do not reach the log, whatever the message: tokens, cookies and the last part of a sign-in
link, an invitation or a public link are replaced when the line is written.
"""

import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from django.utils.functional import SimpleLazyObject

HIDDEN = "[hidden]"
_SECRETS = (
    re.compile(r"(?<=/sign-in/)[^\s\"'?#/<>]+"),
    re.compile(r"(?<=/teams/join/)[^\s\"'?#/<>]+"),
    re.compile(r"(?<=/public/)[^\s\"'?#/<>]+"),
    re.compile(r"\bcut_[A-Za-z0-9_-]{6,}"),
    re.compile(r"\bwhsec_[A-Za-z0-9+/=_-]{6,}"),
    re.compile(r"(?i)(?<=bearer )[^\s\"',]+"),
    re.compile(r"(?i)(?<=sessionid=)[^\s\"';,]+"),
    re.compile(r"(?i)(?<=csrftoken=)[^\s\"';,]+"),
    re.compile(r"(?<=://)[^/\s:@]*:[^/\s@]+(?=@)"),  # user and password of an address
)


class Person:
    """The person behind a request, known only after its outer layers have begun.

    ``holder`` is an object whose ``user`` is the person, such as Django's request.
    """

    holder: Any = None

    @property
    def key(self) -> int | None:
        """Return the person's key, or None if nobody signed in or that is not yet known."""
        user = getattr(self.holder, "user", None)
        if isinstance(user, SimpleLazyObject):  # reading it would take a query
            user = getattr(self.holder, "_cached_user", None)
        return getattr(user, "pk", None)


@dataclass(frozen=True, slots=True)
class Subject:
    """The request, job and person that the running code works for."""

    request: str | None = None
    job: int | None = None
    user: int | None = None
    person: Person | None = None

    def members(self) -> dict[str, Any]:
        """Return the known members, in the order in which lines show them."""
        user = self.person.key if self.person is not None else self.user
        members = {"request": self.request, "user": user, "job": self.job}
        return {name: value for name, value in members.items() if value is not None}


_NOTHING = Subject()
_subject: ContextVar[Subject] = ContextVar("subject", default=_NOTHING)


@contextmanager
def about(**members: Any) -> Iterator[None]:
    """Mark every log line in the block as being about a request, a user or a job."""
    token = _subject.set(replace(_subject.get(), **members))
    try:
        yield
    finally:
        _subject.reset(token)


def subject() -> dict[str, Any]:
    """Return the members of a line that would be written now."""
    return _subject.get().members()


def redacted(text: str) -> str:
    """Return a text without the secrets in it."""
    for secret in _SECRETS:
        text = secret.sub(HIDDEN, text)
    return text


class _Formatter(logging.Formatter):
    """Shows times in UTC with milliseconds."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class LineFormatter(_Formatter):
    """Writes a line of text that ends with its subject."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s%(about)s")

    def format(self, record: logging.LogRecord) -> str:
        words = [f"{name}={value}" for name, value in subject().items()]
        record.about = f" [{' '.join(words)}]" if words else ""
        return redacted(super().format(record))


class JsonFormatter(_Formatter):
    """Writes a line of JSON; a traceback is the member ``exception``."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": self.formatTime(record),
            "level": record.levelname,
            "logger": record.name,
            "message": redacted(record.getMessage()),
            **subject(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["exception"] = redacted(self.formatException(record.exc_info))
        return json.dumps(line, default=str, ensure_ascii=False)


def configuration(format: str) -> dict[str, Any]:
    """Return the ``LOGGING`` setting for ``line`` or ``json``."""
    formatter = {"line": LineFormatter, "json": JsonFormatter}[format]
    ours = {"handlers": [], "propagate": True}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"chosen": {"()": formatter}},
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "chosen"}},
        "root": {"handlers": ["console"], "level": "WARNING"},
        "loggers": {
            "django": ours | {"level": "WARNING"},
            "django.request": {"level": "ERROR"},  # a client's mistake is reported to the client
            "django.server": ours,
            "uvicorn": ours,
            "uvicorn.error": ours | {"level": "INFO"},
            "uvicorn.access": {"handlers": [], "propagate": False},  # it would log the query
            "access": {"level": "INFO"},
            "snapshots": {"level": "INFO"},
            "tasks": {"level": "INFO"},
            "webapp": {"level": "INFO"},
        },
    }
