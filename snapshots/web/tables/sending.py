"""Show a page, or send one of its tables as a file if the address asks for it."""

import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.utils.http import content_disposition_header

from snapshots.domain.model.derived import ABOUT
from snapshots.problems import Invalid, NotFound
from snapshots.web.tables.model import Context, Table
from snapshots.web.tables.registry import TABLES
from snapshots.web.tables.writing import FORMATS, Format, Head

PARAMETERS = ("table", "format", "page")
_NO_NAME = re.compile(r"[^0-9A-Za-z]+")


class TableFile(StreamingHttpResponse):
    """A table as a file that is sent part by part, also by an asynchronous server."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        parts = iter(self)
        while (part := await sync_to_async(_next)(parts)) is not None:
            yield part


def _next(parts: Iterator[bytes]) -> bytes | None:
    return next(parts, None)


def show(
    request: HttpRequest, template: str, context: Mapping[str, Any], *, status: int = 200
) -> HttpResponseBase:
    """Show a page; with ``?table=NAME&format=csv`` send that table of it, all rows.

    Without ``table`` it is the first table of the page. Raises: NotFound, Invalid.
    """
    if "format" in request.GET and request.method in ("GET", "HEAD") and status == 200:
        return _file(request, {**context, "request": request})
    return render(request, template, context, status=status)


def tables_of(request: HttpRequest) -> tuple[Table, ...]:
    """Return the tables that are declared for the page of a request."""
    match = request.resolver_match
    return TABLES.get(match.view_name, ()) if match else ()


def _file(request: HttpRequest, context: Context) -> TableFile:
    format = _format(request.GET["format"])
    table, rows = _chosen(request, context)
    columns = table.columns_on(context)
    derived = ABOUT if table.is_derived_on(context) else ""
    left_out = table.left_out(context)
    head = Head(table.name, table.title, _address(request), left_out, columns, derived)
    cells = ([column.value(row) for column in columns] for row in rows)
    answer = TableFile(_begun(format.write(head, cells)), content_type=format.media_type)
    name = file_name(request.path, table, request.GET["format"])
    answer["Content-Disposition"] = content_disposition_header(True, name) or "attachment"
    return answer


def _begun(parts: Iterator[bytes]) -> Iterator[bytes]:
    """Make the first part at once, so that what goes wrong there is still answered with a page."""
    return chain([next(parts, b"")], parts)


def _format(name: str) -> Format:
    if name not in FORMATS:
        raise Invalid(f"The format must be one of {', '.join(FORMATS)}.", field="format")
    return FORMATS[name]


def _chosen(request: HttpRequest, context: Context) -> tuple[Table, Iterable[Any]]:
    wanted, tables = request.GET.get("table"), tables_of(request)
    for table in tables:
        if wanted in (table.name, None) and (rows := table.rows_on(context)) is not None:
            return table, rows
    names = ", ".join(table.name for table in tables) or "none"
    raise NotFound(f"The page has no such table just now. The tables that it can have: {names}.")


def _address(request: HttpRequest) -> str:
    """Return the address of the page that shows the table."""
    query = request.GET.copy()
    for name in PARAMETERS:
        query.pop(name, None)
    return f"{request.path}?{query.urlencode()}" if query else request.path


def file_name(path: str, table: Table, format: str) -> str:
    """Return a name that says what and of what: ``cutline-recordings-12-snapshots.csv``."""
    words = [_NO_NAME.sub("-", part).strip("-") for part in path.split("/")]
    if not words or words[-1] != table.name:
        words.append(table.name)
    return "-".join(["cutline", *filter(None, words)])[:150] + f".{format}"
