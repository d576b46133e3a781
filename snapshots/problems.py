"""Describe what goes wrong as problems (RFC 9457), so that a person can act on it.

A problem is a JSON object: ``type`` (``/problems/<code>``), ``title``, ``status``, ``detail``, and
for input ``line``, ``field`` and ``defects``. It is the answer to a request, or the ``error`` of a
job.
"""

import json
from dataclasses import asdict
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse

from snapshots.domain.conditions.expressions import ExpressionError
from snapshots.domain.model.defects import InputRefused

LISTED_DEFECTS = 100
MEDIA_TYPE = "application/problem+json"


class Problem(Exception):
    """A reason to refuse a request; ``members`` are further members of the JSON object."""

    code = "invalid"
    title = "The request cannot be carried out"
    status = 400

    def __init__(self, detail: str, **members: Any) -> None:
        super().__init__(detail)
        self.detail = detail
        self.members = {key: value for key, value in members.items() if value is not None}

    def as_json(self) -> dict[str, Any]:
        return problem(self.code, self.title, self.status, self.detail, **self.members)


class NotFound(Problem):
    code, title, status = "not-found", "Not found", 404


class ReadOnly(Problem):
    code, title, status = "read-only", "Samples cannot be changed", 403


class NeedsRole(Problem):
    """The person's ``role`` in a team does not allow the request; ``needs`` is one that would."""

    code, title, status = "needs-role", "Your role in the team does not allow this", 403


class NotYours(Problem):
    """The person may see what somebody else wrote, and not change it."""

    code, title, status = "not-yours", "Somebody else wrote this", 403


class Unauthorized(Problem):
    code, title, status = "unauthorized", "Sign in, or send a token", 401


class NeedsWriting(Problem):
    """The request needs a token that may also write."""

    code, title, status = "needs-writing", "The token only reads", 403


class TooMany(Problem):
    """A person uses as much as allowed, or too many requests run at once.

    ``limit`` and ``used`` say how much the person may use and uses. After ``retry_after`` seconds
    the same request may succeed; the answer also has this number in a header.
    """

    code, title, status = "too-many", "Too many", 429


class Invalid(Problem):
    """A field of the request, which ``field`` names, has no valid value."""

    code, title, status = "invalid-field", "A field is not valid", 422


class NotJson(Problem):
    code, title, status = "not-json", "The body is not JSON", 400


class TooLarge(Problem, RequestDataTooBig):  # so that Django answers 4xx outside the API too
    code, title, status = "too-large", "Too large", 413


class TooManyFiles(TooLarge):
    code, title = "too-many-files", "Too many files"


class TooSlow(Problem):
    """The request, or a part of it, did not arrive in time."""

    code, title, status = "too-slow", "The request came too slowly", 408


class HeaderTooLarge(Problem):
    code, title, status = "header-too-large", "The header is too large", 431


class Unavailable(Problem):
    """A service that the request needs cannot be reached at the moment."""

    code, title, status = "unavailable", "Not available at the moment", 503


class NoRoom(Problem):
    """The disk has no room for the data of the request."""

    code, title, status = "no-room", "The disk is full", 507


class Refused(Problem):
    """The input cannot be understood; ``line``, ``field`` and ``defects`` say where."""

    code, title, status = "refused", "The input was refused", 422

    def __init__(self, detail: str, *, code: str = "refused", **members: Any) -> None:
        super().__init__(detail, **members)
        self.code = code

    @classmethod
    def of(cls, refused: InputRefused, source_name: str) -> "Refused":
        """Return a problem with the first defect's sentence and at most LISTED_DEFECTS defects."""
        first = refused.defects[0]
        return cls(
            str(first),
            code=first.code,
            line=first.line,
            field=first.field,
            file=source_name,
            defects=[asdict(item) for item in refused.defects[:LISTED_DEFECTS]],
            defects_total=refused.total,
            **refused.members,
        )

    @classmethod
    def of_expression(cls, error: ExpressionError, code: str = "invalid-expression") -> "Refused":
        """Return a problem of ``expression``, with ``line``, ``column`` and ``excerpt``."""
        place = f"Column {error.column}"
        return cls(
            f"{place if error.line == 1 else f'Line {error.line}, c{place[1:]}'}: {error.sentence}",
            code=code,
            field="expression",
            line=error.line,
            column=error.column,
            excerpt=error.excerpt,
        )


class Conflict(Problem):
    """The state of the thing does not allow the request now."""

    code, title, status = "conflict", "Not possible now", 409


class Locked(Problem):
    """Another request is changing the same thing."""

    code, title, status = "locked", "Another request is under way", 423


class WrongChecksum(Problem):
    """A piece of an upload is not what was sent; tus names the status."""

    code, title, status = "wrong-checksum", "The checksum does not match", 460


class BadRequest(Problem):
    """A header of the request is missing or has no meaning."""

    code, title, status = "bad-request", "Bad request", 400


class WrongVersion(Problem):
    """The client speaks another version of the tus protocol."""

    code, title, status = "wrong-version", "Another version of the protocol", 412


class WrongMediaType(Problem):
    code, title, status = "wrong-media-type", "Another media type is expected", 415


def problem(code: str, title: str, status: int, detail: str, **members: Any) -> dict[str, Any]:
    return {
        "type": f"/problems/{code}",
        "title": title,
        "status": status,
        "detail": detail,
        **members,
    }


def cancelled() -> dict[str, Any]:
    detail = "The job was cancelled before it had finished."
    return problem("cancelled", "Cancelled", 409, detail, cause="A person cancelled it.")


def response(body: dict[str, Any]) -> HttpResponse:
    """Return a problem as an answer, in ASCII JSON because a text may be invalid Unicode."""
    answer = HttpResponse(json.dumps(body), status=body["status"], content_type=MEDIA_TYPE)
    for name, value in headers(body).items():
        answer[name] = value
    return answer


def headers(body: dict[str, Any]) -> dict[str, str]:
    """Return the HTTP headers that go with a problem."""
    fields = {"WWW-Authenticate": 'Bearer realm="cutline"'} if body["status"] == 401 else {}
    if "retry_after" in body:
        fields["Retry-After"] = str(body["retry_after"])
    return fields


_SENTENCES = {
    400: ("bad-request", "Bad request", "The request cannot be read. Is its body complete?"),
    403: ("forbidden", "Forbidden", "This is not allowed. Is the CSRF token sent along?"),
    404: ("not-found", "Not found", "Nothing is at this address. /api/docs lists the calls."),
    405: ("method-not-allowed", "Method not allowed", "The address does not take this method."),
    413: ("too-large", "Too large", "The request is larger than this server takes."),
    500: (
        "internal",
        "Internal error",
        "An error occurred in the server; its log has the details.",
    ),
}


def middleware(get_response):
    """Turn every refusal under /api/ into a problem, also those that Django itself makes."""

    def answer(request: HttpRequest) -> HttpResponse:
        reply = get_response(request)
        if reply.status_code < 400 or not request.path_info.startswith("/api/"):
            return reply
        if reply.headers.get("Content-Type", "").startswith(MEDIA_TYPE):
            return reply
        return _translated(request, reply)

    return answer


def _translated(request: HttpRequest, reply: HttpResponse) -> HttpResponse:
    default = ("refused", "Refused", "The request was refused.")
    code, title, sentence = _SENTENCES.get(reply.status_code, default)
    if reply.status_code == 405:
        sentence = f"{request.path_info} takes {reply.headers['Allow']}, not {request.method}."
    translated = response(problem(code, title, reply.status_code, sentence))
    if "Allow" in reply.headers:
        translated["Allow"] = reply.headers["Allow"]
    return translated
