"""Lists that are filtered, sorted and paged by their address alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from snapshots import access
from snapshots.fields import storable

ROWS = 100
LONGEST_FILTER = 200


@dataclass(frozen=True)
class Column:
    """A column of a list.

    Attributes:
        field: the field by which it sorts; empty if the list cannot be sorted by this column.
        is_number: whether the first click sorts the largest first.
    """

    title: str
    field: str = ""
    is_number: bool = False


@dataclass(frozen=True)
class Head:
    """The head of a column: where a click leads, and how the list is sorted by it now."""

    column: Column
    address: str
    aria_sort: str


class Listing:
    """Rows as ``?q=``, ``?sort=`` (``-field`` for descending) and ``?page=`` of a request ask.

    With ``by_team``, ``?team=`` asks for those of a team, or for the person's own with ``mine``.
    """

    def __init__(
        self,
        request: HttpRequest,
        rows: QuerySet,
        columns: Sequence[Column],
        *,
        search: Sequence[str],
        sort: str,
        by_team: bool = False,
    ) -> None:
        self.columns = columns
        self.teams = list(access.teams(request.user)) if by_team else []
        self.team = request.GET.get("team", "") if self.teams else ""
        self.q = storable(request.GET.get("q", ""))[:LONGEST_FILTER]
        self.sort = self._sort(request.GET.get("sort", ""), sort)
        self.total = rows.count()
        chosen = access.owned_by(request.user, rows, self.team)
        self._rows = chosen.filter(self._matches(search)).order_by(self.sort, "-pk")
        self._page = request.GET.get("page", "1")

    def _sort(self, wanted: str, default: str) -> str:
        fields = {column.field for column in self.columns if column.field}
        return wanted if wanted.removeprefix("-") in fields else default

    def _matches(self, fields: Sequence[str]) -> Q:
        condition = Q()
        for word in self.q.split():
            condition &= Q(*[(f"{field}__icontains", word) for field in fields], _connector=Q.OR)
        return condition

    @property
    def wanted(self) -> str:
        """Return in words what passes the filter; empty if everything does."""
        names = {str(team.pk): team.name for team in self.teams} | {
            access.MINE: "what is yours alone"
        }
        words = [f"“{self.q}”"] * bool(self.q)
        if self.team:
            words.append(names.get(self.team, "another team"))
        return " in ".join(words)

    @property
    def whole(self) -> QuerySet:
        """Return the rows that pass the filter, on all pages."""
        return self._rows

    @cached_property
    def page(self) -> Page:
        return Paginator(self._rows, ROWS).get_page(self._page)

    @property
    def count(self) -> int:
        """Return how many rows pass the filter, on all pages."""
        return self.page.paginator.count

    @property
    def heads(self) -> list[Head]:
        return [self._head(column) for column in self.columns]

    def _head(self, column: Column) -> Head:
        field, is_descending = self.sort.removeprefix("-"), self.sort.startswith("-")
        if column.field != field:
            aria_sort, sort = "", f"-{column.field}" if column.is_number else column.field
        else:
            aria_sort, sort = ("descending", field) if is_descending else ("ascending", f"-{field}")
        return Head(column, self._address(sort=sort), aria_sort)

    @property
    def previous(self) -> str:
        page = self.page
        return self._address(page=page.previous_page_number()) if page.has_previous() else ""

    @property
    def next(self) -> str:
        page = self.page
        return self._address(page=page.next_page_number()) if page.has_next() else ""

    def _address(self, **change: object) -> str:
        query = {"q": self.q, "team": self.team, "sort": self.sort} | change
        return "?" + urlencode({name: item for name, item in query.items() if item})
