"""Write tables as CSV that a spreadsheet opens without running texts of an upload as formulas."""

import csv
import io
import re
from collections.abc import Iterable, Sequence

from django.http import HttpResponse

_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")

Cell = str | int | None


def csv_reply(head: Sequence[str], rows: Iterable[Sequence[Cell]], name: str) -> HttpResponse:
    """Send a table as a file. None is an empty field."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([_harmless(cell) for cell in row] for row in rows)
    response = HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _harmless(cell: Cell) -> Cell:
    """Put an apostrophe before a text that a spreadsheet would run."""
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell
