"""Answer a repeated request with the same ``Idempotency-Key`` like the first one.

The row of a request is written before the work. Its answer is added in the transaction of the work,
so after a crash there is both or neither. A row without an answer counts as abandoned after a
while. If its request continues after that, it cannot store its answer, and its work is rolled back.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from datetime import timedelta
from functools import wraps
from typing import Any

from django.db import DatabaseError, IntegrityError, transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from snapshots.models import IdempotentRequest
from snapshots.problems import Invalid, Problem
from webapp.accounts.auth import SignedInRequest

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
MOST_CHARACTERS = 200
KEPT = timedelta(hours=24)
ABANDONED = timedelta(seconds=60)
RETRY_AFTER = 2  # seconds

DOCUMENTED = {
    "parameters": [
        {
            "name": HEADER,
            "in": "header",
            "required": False,
            "schema": {"type": "string", "minLength": 1, "maxLength": MOST_CHARACTERS},
            "description": (
                "Makes a repetition harmless. The same request with the same key is carried out "
                f"once in 24 hours; a repetition gets the first answer, with {REPLAYED}: true. "
                "409 while the first is under way, 422 if the key was used for another request."
            ),
        }
    ]
}
"""The description of the header in the API's documentation."""


class KeyUsed(Problem):
    code, title, status = "idempotency-key-used", "The key was used for another request", 422


class UnderWay(Problem):
    code, title, status = "request-under-way", "The first request is still under way", 409


class Attempt:
    """One request, whose answer ``keep`` stores; a request without a key has none stored."""

    def __init__(self, row: IdempotentRequest | None = None) -> None:
        self._row = row
        self.left_out: tuple[str, ...] = ()

    def keep(self, reply: HttpResponse) -> None:
        """Store the answer in the open transaction.

        Raises: UnderWay if another request has taken the key over meanwhile.
        """
        if self._row is None:
            return
        mine = IdempotentRequest.objects.filter(pk=self._row.pk, status=None)
        if not mine.update(status=reply.status_code, body=self._stored(reply)):
            raise under_way()

    def _stored(self, reply: HttpResponse) -> str:
        """Return the answer as a repetition gets it: secrets, which are kept nowhere, are empty."""
        body = reply.content.decode()
        if not self.left_out:
            return body
        return json.dumps(json.loads(body) | dict.fromkeys(self.left_out, ""))

    @contextmanager
    def released_on_failure(self) -> Iterator[None]:
        """Release the key if the request fails."""
        try:
            yield
        except BaseException:
            if self._row is not None:
                with suppress(DatabaseError):  # the key then soon counts as abandoned
                    IdempotentRequest.objects.filter(pk=self._row.pk, status=None).delete()
            raise


def idempotent(
    view: Callable[..., HttpResponse] | None = None,
    *,
    keeps_itself: bool = False,
    left_out: tuple[str, ...] = (),
) -> Callable[..., Any]:
    """Let a person carry out a call of the API only once with each key; without a key, each time.

    Args:
        view: the call.
        keeps_itself: whether the view calls ``request.attempt.keep`` in a transaction of its own,
            because its earlier work would lock the database for too long.
        left_out: the members of the answer that are secret, and empty in a repeated answer.
    """
    if view is None:
        return lambda view: idempotent(view, keeps_itself=keeps_itself, left_out=left_out)

    @wraps(view)
    def answer(request: SignedInRequest, *args, **kwargs) -> HttpResponse:
        request.attempt = attempt = _claimed(request)  # type: ignore[attr-defined]
        if isinstance(attempt, HttpResponse):
            return attempt
        attempt.left_out = left_out
        if attempt._row is None:
            return view(request, *args, **kwargs)
        with attempt.released_on_failure(), nullcontext() if keeps_itself else transaction.atomic():
            reply = view(request, *args, **kwargs)
            if not keeps_itself:
                attempt.keep(reply)
        return reply

    return answer


def forget_old() -> int:
    """Delete the rows that are too old; return their number."""
    old = IdempotentRequest.objects.filter(created_at__lt=timezone.now() - KEPT)
    return old.delete()[0]


def under_way() -> UnderWay:
    return UnderWay(
        "The first request with this key is still under way. Send it again in a moment.",
        retry_after=RETRY_AFTER,
    )


def _claimed(request: SignedInRequest) -> Attempt | HttpResponse:
    """Return the attempt of this request, or the answer of the request that it repeats."""
    if HEADER not in request.headers:
        return Attempt()
    key, fingerprint = _key(request), fingerprint_of(request)
    rows = IdempotentRequest.objects.filter(owner=request.user, key=key)
    now = timezone.now()
    abandoned = Q(status=None, created_at__lt=now - ABANDONED)
    rows.filter(abandoned | Q(created_at__lt=now - KEPT)).delete()
    try:
        with transaction.atomic():
            return Attempt(rows.create(owner=request.user, key=key, fingerprint=fingerprint))
    except IntegrityError:
        return _answer_of(rows.first(), fingerprint)


def _key(request: HttpRequest) -> str:
    key = request.headers[HEADER].strip()
    if not (key.isascii() and key.isprintable() and 1 <= len(key) <= MOST_CHARACTERS):
        raise Invalid(
            f"{HEADER} must have 1 to {MOST_CHARACTERS} printable ASCII characters.", field=HEADER
        )
    return key


def _answer_of(first: IdempotentRequest | None, fingerprint: str) -> HttpResponse:
    """Return the stored answer of the first request. Raises: KeyUsed, UnderWay."""
    if first is not None and first.fingerprint != fingerprint:
        raise KeyUsed(
            "This key was used for another request. Use a new key for each request.",
            field=HEADER,
        )
    if first is None or first.status is None:
        raise under_way()
    headers = {REPLAYED: "true", "Content-Type": "application/json"}
    return HttpResponse(first.body, status=first.status, headers=headers)


def fingerprint_of(request: HttpRequest) -> str:
    """Return the SHA-256 of a request: address, fields, names and contents of files."""
    digest = hashlib.sha256()
    for part in (request.method or "", request.get_full_path(), *_content(request)):
        raw = part if isinstance(part, bytes) else part.encode(errors="surrogatepass")
        digest.update(len(raw).to_bytes(8, "big") + raw)
    return digest.hexdigest()


def _content(request: HttpRequest) -> Iterator[str | bytes]:
    if not (request.content_type or "").startswith("multipart/"):
        yield request.body
        return
    for name, values in sorted(request.POST.lists()):
        yield from (f"field {name}", *values)
    for name, files in sorted(request.FILES.lists()):
        for file in files:
            yield from (f"file {name}", file.name or "", _digest(file))


def _digest(file) -> bytes:
    digest = hashlib.sha256()
    for chunk in file.chunks(1 << 20):
        digest.update(chunk)
    file.seek(0)
    return digest.digest()
