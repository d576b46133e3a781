"""Make, name and delete short links. Access is checked by ``snapshots.access``.

Raises: problems.Problem for a wrong request.
"""

import hashlib
import secrets
import string
from typing import Any

import orjson
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from snapshots import access
from snapshots.models import EngineJob, Recording
from snapshots.problems import Invalid, TooMany
from webapp.links.addresses import WORKBENCH, Page, read_page
from webapp.links.models import LONGEST_NAME, ShortLink

ALPHABET = string.ascii_letters + string.digits
KEY_LENGTH = 12  # 71 random bits
MOST_LINKS = 1_000  # of one person about one recording or archived job


@transaction.atomic
def make(by: User, address: object, view: dict[str, Any] | None, name: object = "") -> ShortLink:
    """Return the person's short link of a page, made if there is none yet.

    Args:
        address: the path and query of one of our pages.
        view: the checked view of a workbench, which is shown in place of the query; None for
            other pages.
        name: what the link is called from now on; empty to leave that as it is.

    Raises: Invalid, NotFound, TooMany.
    """
    page, name = read_page(address), checked_name(name)
    if view is not None and page.name != WORKBENCH:
        raise Invalid("Only the workbench of a recording has a view.", field="view")
    subject = _subject(by, page)
    digest = _digest(address if view is None else [page.number, view])
    row = ShortLink.objects.filter(made_by=by, digest=digest).first()
    if row is None:
        row = _add(by, subject, address=address, view=view, digest=digest, name=name)
    elif name and row.name != name:
        row.name = name
        row.save(update_fields=["name"])
    return row


def _subject(by: User, page: Page) -> Recording | EngineJob:
    if page.is_archived:
        return access.engine_job(by, page.number)
    return access.recording(by, page.number)


def _digest(content: object) -> str:
    text = orjson.dumps(content, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(text).hexdigest()


def _add(by: User, subject: Recording | EngineJob, **fields: Any) -> ShortLink:
    used = subject.short_links.filter(made_by=by).count()
    if used >= MOST_LINKS:
        raise TooMany(
            f"You have made {used:,} short links about “{subject}”, which is the most. Delete one "
            "that you no longer need.",
            limit=MOST_LINKS,
            used=used,
        )
    field = "engine_job" if isinstance(subject, EngineJob) else "recording"
    key = "".join(secrets.choice(ALPHABET) for _ in range(KEY_LENGTH))
    return ShortLink.objects.create(made_by=by, key=key, **{field: subject}, **fields)


def checked_name(name: object) -> str:
    """Return the name of a link without surrounding white space. Raises: Invalid."""
    if not isinstance(name, str):
        raise Invalid("The name must be a text.", field="name")
    name = " ".join(name.split())
    if len(name) > LONGEST_NAME:
        raise Invalid(f"The name has at most {LONGEST_NAME} characters.", field="name")
    return name


def address_of(row: ShortLink) -> str:
    """Return the complete short address."""
    return f"{settings.PUBLIC_URL}/v/{row.key}"


def target_of(row: ShortLink) -> str:
    """Return the path and query to which the short address leads."""
    return row.address if row.view is None else f"/recordings/{row.recording_id}?v={row.key}"
