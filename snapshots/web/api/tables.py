"""The calls that send the tables of pages as files."""

from collections.abc import Mapping
from typing import Annotated, Literal
from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.urls import Resolver404, ResolverMatch, resolve
from ninja import Query, Router
from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.payloads.declaring import described, list_of
from snapshots.problems import Invalid, NotFound
from snapshots.web.json import reply
from snapshots.web.tables.registry import TABLES
from snapshots.web.tables.sending import TableFile

router = Router()


@described
class TableItem(TypedDict):
    """A table that a page can have.

    Attributes:
        page: the name of the page.
        table: the name of the table.
        title: what the table shows.
    """

    page: str
    table: str
    title: str


TableList = list_of(TableItem, "TableList", is_paged=False)
PageAddress = Annotated[
    str,
    Query(
        max_length=10_000,
        description="The address of the page with its query, such as `/recordings/4/snapshots`; "
        "filters and sorting count as on the page.",
    ),
]
TableName = Annotated[
    str | None,
    Query(None, description="The name of the table; without it, it is the page's first one."),
]
FormatName = Annotated[
    Literal["csv", "json", "parquet"], Query(description="The format of the file.")
]


@router.get("/tables", response=TableList, summary="List the tables of all pages")
def list_tables(request: HttpRequest) -> HttpResponse:
    """List the tables that can be downloaded whole, with the page on which each stands."""
    items = [
        {"page": page, "table": table.name, "title": table.title}
        for page, tables in TABLES.items()
        for table in tables
    ]
    return reply({"items": items, "total": len(items)})


@router.get("/table", response=str, summary="Get a table of a page as a file")
def get_table(
    request: HttpRequest, page: PageAddress, format: FormatName, table: TableName
) -> HttpResponseBase:
    """Send a table of a page with all its rows as CSV, JSON or Parquet.

    Null, or an empty field in CSV, is not known. Units are in the heads of CSV, in `columns` of
    JSON, and in the metadata of the columns of Parquet. `left_out` counts the rows that Cutline
    only counted, and that no file has.
    """
    address = urlsplit(page)
    try:
        match = resolve(address.path)
    except Resolver404:
        raise NotFound("There is no such page.") from None
    if address.netloc or match.view_name not in TABLES:
        raise NotFound("There is no page with tables at this address.")
    wanted = {"format": format} | ({} if table is None else {"table": table})
    _lead_to(request, match, page, wanted)
    answer = match.func(request, *match.args, **match.kwargs)
    if not isinstance(answer, TableFile):
        raise Invalid("The page has no table for this address: open it to see why.", field="page")
    return answer


def _lead_to(
    request: HttpRequest, match: ResolverMatch, page: str, wanted: Mapping[str, str]
) -> None:
    """Turn the request into one of the page, whose refusals the API answers."""
    address = urlsplit(page)
    values = QueryDict(address.query, mutable=True)
    for name, value in wanted.items():
        values[name] = value
    request.GET = values  # type: ignore[assignment]
    request.path = request.path_info = address.path
    request.resolver_match = match
    request.is_call = True  # type: ignore[attr-defined]  # rendering.page looks at it
