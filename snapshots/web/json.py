"""Read JSON strictly, and write it quickly."""

from collections.abc import Callable
from typing import Any

import orjson
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from ninja.parser import Parser
from ninja.renderers import BaseRenderer

from snapshots.problems import Invalid, NotJson


class OrjsonParser(Parser):
    """Refuses NaN, infinities, text that is not Unicode, and bodies that are not objects."""

    def parse_body(self, request: HttpRequest) -> dict[str, Any]:
        body = read(request.body)
        if not isinstance(body, dict):
            raise Invalid("The body is an object, {…}.", field="body")
        return body


class OrjsonRenderer(BaseRenderer):
    media_type = "application/json"

    def render(self, request: HttpRequest, data: Any, *, response_status: int) -> bytes:
        return dumps(data)


def read(text: str | bytes, what: str = "body") -> Any:
    """Return the value of JSON that a client sent, which orjson, Python and Django can write again.

    Args:
        text: the JSON.
        what: what it is, for the sentence of a refusal.

    Raises: NotJson, also for values that are nested more than 254 levels deep.
    """
    try:
        value = orjson.loads(text)
        orjson.dumps(value)
    except orjson.JSONDecodeError as error:
        raise NotJson(f"The {what} is not JSON: {error.msg}.", line=error.lineno) from None
    except orjson.JSONEncodeError:
        raise NotJson(f"The {what} is nested more than 254 levels deep.") from None
    return value


def dumps(payload: Any) -> bytes:
    """Return JSON in UTF-8, in which whole numbers may have any size."""
    try:
        return orjson.dumps(payload)
    except orjson.JSONEncodeError:
        return orjson.dumps(_with_wide_numbers(payload))


def _with_wide_numbers(payload: Any) -> Any:
    """Replace whole numbers beyond 64 bits, which sums of states can be and orjson refuses."""
    if isinstance(payload, dict):
        return {key: _with_wide_numbers(item) for key, item in payload.items()}
    if isinstance(payload, list | tuple):
        return [_with_wide_numbers(item) for item in payload]
    if isinstance(payload, int) and not -(2**63) <= payload < 2**64:
        return orjson.Fragment(str(payload))
    return payload


def reply(payload: Any, status: int = 200) -> HttpResponse:
    """Send a payload without checking it: declared types are for the document and the tests."""
    return HttpResponse(dumps(payload), status=status, content_type="application/json")


def reply_page(
    rows: QuerySet, offset: int, limit: int, payload: Callable[[Any], object]
) -> HttpResponse:
    """Send one page of a list, each row as ``payload`` shows it, with the total of all rows."""
    items = [payload(row) for row in rows[offset : offset + limit]]
    return reply({"items": items, "total": rows.count()})
