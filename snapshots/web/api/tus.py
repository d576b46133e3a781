"""The headers of tus 1.0.0, the protocol of uploads that go on after an interruption.

Source: https://tus.io/protocols/resumable-upload.
"""

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.http import http_date

from snapshots import problems
from snapshots.files.resumable import BLOCK
from snapshots.models import ResumableUpload
from snapshots.problems import BadRequest, Problem, WrongMediaType, WrongVersion
from snapshots.services.resuming import ALGORITHMS, Checksum

VERSION = "1.0.0"
EXTENSIONS = "creation,checksum,termination,expiration"
PIECE = "application/offset+octet-stream"
MOST_METADATA = 8_192  # characters


def speaks_tus(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Answer in the protocol's version, and refuse a client that speaks another one."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            require_version(request)
            reply = view(request, *args, **kwargs)
        except Problem as problem:
            reply = problems.response(problem.as_json())
        reply["Tus-Resumable"] = VERSION
        if reply.status_code == WrongVersion.status:
            reply["Tus-Version"] = VERSION
        return reply

    return answer


def require_version(request: HttpRequest) -> None:
    """Check the version of a client. Raises: WrongVersion."""
    version = request.headers.get("Tus-Resumable")
    if version != VERSION and request.method != "OPTIONS":
        said = "no header Tus-Resumable" if version is None else f"Tus-Resumable: {version}"
        raise WrongVersion(f"The request has {said}; this server speaks {VERSION}.")


def abilities() -> dict[str, str]:
    """Return the headers that say what this server can do."""
    return {
        "Tus-Version": VERSION,
        "Tus-Extension": EXTENSIONS,
        "Tus-Max-Size": str(settings.MAX_RESUMABLE_BYTES),
        "Tus-Checksum-Algorithm": ",".join(ALGORITHMS),
    }


def state(upload: ResumableUpload) -> dict[str, str]:
    """Return the headers that say how far an upload is, and when it expires."""
    return {
        "Upload-Offset": str(upload.offset),
        "Upload-Expires": http_date(upload.expires_at.timestamp()),
    }


def description(upload: ResumableUpload) -> dict[str, str]:
    """Return the headers that repeat what the sender said of an upload."""
    pairs = [f"{name} {_encoded(value)}".rstrip() for name, value in upload.metadata.items()]
    told = {"Upload-Metadata": ",".join(pairs)} if pairs else {}
    return {"Upload-Length": str(upload.length), **told}


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def number(request: HttpRequest, name: str) -> int:
    """Return a header that is a number of bytes. Raises: BadRequest."""
    text = request.headers.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        said = f"{name}: {text}" if text else f"no header {name}"
        raise BadRequest(f"The request has {said}, and it takes a number of bytes.", field=name)
    return int(text)


def metadata(request: HttpRequest) -> dict[str, str]:
    """Return the texts of Upload-Metadata by name. Raises: BadRequest."""
    header = request.headers.get("Upload-Metadata", "")
    if len(header) > MOST_METADATA:
        raise BadRequest(
            f"Upload-Metadata has more than {MOST_METADATA:,} characters.", field="Upload-Metadata"
        )
    pairs = [_pair(pair.strip()) for pair in header.split(",") if pair.strip()]
    if len(dict(pairs)) < len(pairs):
        raise BadRequest("Upload-Metadata has a name twice.", field="Upload-Metadata")
    return dict(pairs)


def _pair(pair: str) -> tuple[str, str]:
    name, _, value = pair.partition(" ")
    try:
        return name, base64.b64decode(value, validate=True).decode()
    except (binascii.Error, ValueError):
        raise BadRequest(
            f"The value of “{name}” in Upload-Metadata is no text in Base64.",
            field="Upload-Metadata",
        ) from None


def checksum(request: HttpRequest) -> Checksum | None:
    """Return what the piece must hash to; None if that was not sent. Raises: BadRequest."""
    header = request.headers.get("Upload-Checksum")
    if header is None:
        return None
    algorithm, _, value = header.partition(" ")
    if algorithm not in ALGORITHMS:
        raise BadRequest(
            f"Upload-Checksum names the algorithm “{algorithm}”; {' and '.join(ALGORITHMS)} are "
            "checked here.",
            field="Upload-Checksum",
        )
    try:
        return Checksum(algorithm, base64.b64decode(value, validate=True))
    except (binascii.Error, ValueError):
        raise BadRequest(
            "Upload-Checksum has no digest in Base64.", field="Upload-Checksum"
        ) from None


def blocks(request: HttpRequest) -> Iterator[bytes]:
    """Yield the body of a piece, block by block. Raises: WrongMediaType, BadRequest."""
    if request.content_type != PIECE:
        raise WrongMediaType(f"A piece has the Content-Type {PIECE}.", field="Content-Type")
    check = checksum(request)
    body = iter(lambda: request.read(BLOCK), b"")
    return body if check is None else check.checked(body)


def overridden(request: HttpRequest) -> str:
    """Return the method that the request stands for, where a proxy lets only POST pass."""
    return request.headers.get("X-HTTP-Method-Override", "").upper()


def documented(headers: Mapping[str, str]) -> dict[str, Any]:
    """Return the description of headers for the API's documentation."""
    return {
        "parameters": [
            {
                "name": name,
                "in": "header",
                "required": name in ("Tus-Resumable", "Upload-Length", "Upload-Offset"),
                "schema": {"type": "string"},
                "description": text,
            }
            for name, text in {"Tus-Resumable": f"Always `{VERSION}`.", **headers}.items()
        ]
    }
