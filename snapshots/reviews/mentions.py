"""Find whom a text mentions: ``@ada@example.org``, if the person can see what it is about."""

import re

from django.contrib.auth.models import User

from snapshots import access
from snapshots.reviews.subjects import Subject

MOST = 50  # people that one text mentions
_MENTION = re.compile(r"(?<![\w@.])@([\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)*)", re.ASCII)


def addresses(text: str) -> list[str]:
    """Return the addresses after an @, once each and in lower case."""
    return list(dict.fromkeys(match.lower() for match in _MENTION.findall(text)))


def mentioned(subject: Subject, text: str) -> list[User]:
    """Return the people whom a text mentions and who can see the subject."""
    return list(access.readers(subject).filter(username__in=addresses(text)[:MOST]))
