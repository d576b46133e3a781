"""Describes in the OpenAPI document how a call may be refused, and the media types of files.

Most refusals follow from what a call takes: a number in its path may name nothing, a field may be
wrong, a change may not be allowed. ``_MORE`` and ``_LESS`` have what does not follow from that.
"""

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from snapshots.problems import MEDIA_TYPE
from snapshots.web.api.scopes import READING_METHODS

Json = dict[str, Any]

AT_ANY_TIME = (400, 408, 413, 429, 431, 503, 507)
"""What may refuse any call: its head or body, a limit, or a part of the server that is down."""

_CHECKSUM = 460  # as tus names it
_ANY_TIME = (
    "What may refuse any call: 400, a head or body that cannot be read; 408, 413 and 431, one that "
    "is too slow or too large; 429, a limit; 503 and 507, a service that is down or a full disk."
)
_SHAPE = "Problem"
_CONTENT = {MEDIA_TYPE: {"schema": {"$ref": f"#/components/schemas/{_SHAPE}"}}}
_TEXT, _NUMBER = {"type": "string"}, {"type": "integer"}
_PROBLEM: Json = {
    "title": _SHAPE,
    "description": "Why a call was refused, as RFC 9457 has it. Some kinds have further fields.",
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": _TEXT | {"description": "The kind; the last part of the path is for programs."},
        "title": _TEXT | {"description": "The kind in words."},
        "status": _NUMBER | {"description": "The status of the answer."},
        "detail": _TEXT | {"description": "What is wrong, in a sentence for a person."},
        "field": _TEXT | {"description": "The field that is wrong."},
        "line": _NUMBER | {"description": "The line of the input that is wrong, from 1."},
    },
}
_RECORDING = "/api/recordings/{id}"
_MORE: Mapping[int, tuple[str, ...]] = {
    403: (f"GET {_RECORDING}/public-links", "GET /api/reviews/{id}/public-links"),
    404: (
        "GET /api/compare", "GET /api/compare.csv", "GET /api/compare/alignment",
        "GET /api/table", "POST /api/archive", "POST /api/links", "POST /api/recordings",
        "POST /api/reviews", "POST /api/topologies/import", "POST /api/uploads",
    ),
    409: (
        "GET /api/archive/{id}/with-notes", "GET /api/compare", "GET /api/compare.csv",
        "GET /api/compare/alignment", "GET /api/table", "POST /api/jobs/{id}/cancel",
        "PATCH /api/entries/{id}", "DELETE /api/entries/{id}", "PATCH /api/reviews/{id}",
        "PATCH /api/reviews/{id}/timeline/{row_id}", "DELETE /api/teams/{id}",
        "PATCH /api/teams/{id}/people/{person}", "DELETE /api/teams/{id}/people/{person}",
        "POST /api/webhooks/{id}/test", "POST /api/webhooks/{id}/deliveries/{delivery}/again",
        "PATCH /api/operator/people/{id}", "DELETE /api/operator/people/{id}",
        "POST /api/operator/people/{id}/hand-over",
    ),
    415: (f"POST {_RECORDING}/events",),
    423: ("DELETE /api/uploads/{id}",),
    422: (
        "DELETE /api/account/sessions/{id}",
        "GET /api/archive/{id}/checkpoints/{pipeline}/{number}/polls/{at}",
    ),
}  # fmt: skip
"""Calls that have a status which does not follow from what they take."""
_LESS: Mapping[int, tuple[str, ...]] = {
    409: (
        f"GET {_RECORDING}/defects", f"GET {_RECORDING}/entries", f"GET {_RECORDING}/links",
        f"GET {_RECORDING}/public-links", f"GET {_RECORDING}/trail", f"DELETE {_RECORDING}/trail",
    ),
    422: ("DELETE /api/uploads/{id}",),
}  # fmt: skip
"""Calls that never have a status which would follow."""
_ZIP, _CSV, _HTML, _JSON = "application/zip", "text/csv", "text/html", "application/json"
_OF_A_FILE = {"type": "string", "format": "binary"}
_FILES: Mapping[str, tuple[str, ...]] = {
    "/api/recordings/{id}/with-notes": (_ZIP,),
    "/api/recordings/{id}/smallest-part/file": ("application/x-ndjson",),
    "/api/recordings/{id}/contents/{number}/bytes.csv": (_CSV,),
    "/api/recordings/{id}/entries/document": (_HTML, _ZIP),
    "/api/archive/{id}/with-notes": (_JSON,),
    "/api/archive/{id}/entries/document": (_HTML, _ZIP),
    "/api/reviews/{id}/post-mortem": (_HTML, _ZIP),
    "/api/compare.csv": (_CSV,),
    "/api/table": (_CSV, _JSON, "application/vnd.apache.parquet"),
}


def describe(document: Json) -> Json:
    """Add what is described here to an OpenAPI document, which is changed and returned."""
    for path, kinds in _FILES.items():
        answer = document["paths"][path]["get"]["responses"][200]
        answer["content"] = {
            kind: {"schema": {"type": "object"} if kind == _JSON else _OF_A_FILE} for kind in kinds
        }
    document["components"]["schemas"][_SHAPE] = _PROBLEM
    for path, calls in document["paths"].items():
        for method, call in calls.items():
            name = f"{method.upper()} {path}"
            found = {*_following(method.upper(), path, call)}
            found |= {status for status, names in _MORE.items() if name in names}
            found -= {status for status, names in _LESS.items() if name in names}
            for status in sorted(found):
                call["responses"][status] = {
                    "description": _words(status), "content": _CONTENT,
                }  # fmt: skip
            call["responses"]["default"] = {"description": _ANY_TIME, "content": _CONTENT}
    return document


def _words(status: int) -> str:
    return "Checksum Mismatch" if status == _CHECKSUM else HTTPStatus(status).phrase


def _following(method: str, path: str, call: Json) -> Iterator[int]:
    """Yield the statuses that follow from what a call takes."""
    parameters = call.get("parameters", [])
    yield 401
    if method not in READING_METHODS:
        yield 403
    names = {each["name"] for each in parameters}
    if "{" in path or "team" in names or path.startswith("/api/operator/"):
        yield 404
    if any(each["in"] != "path" for each in parameters) or "requestBody" in call:
        yield 422
    if path.startswith(f"{_RECORDING}/") or "Idempotency-Key" in names:
        yield 409
    if "Tus-Resumable" in names:
        yield 412
    if "Upload-Offset" in names:
        yield from (409, 415, 422, 423, _CHECKSUM)
