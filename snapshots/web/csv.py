"""Write tables as CSV that a spreadsheet opens without running texts of an upload as formulas."""

import csv
import io
import re
from collections.abc import Iterable, Sequence

from django.http import HttpResponse

_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")  # a spreadsheet would compute such a cell


def csv_file(name: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> HttpResponse:
    """Return a table as a file to save, with None as an empty field.

    ``name`` is the name of the file.
    """
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(head)
    writer.writerows([harmless(cell) for cell in row] for row in rows)
    answer = HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer


def harmless(cell: object) -> object:
    """Return a cell, and a text that a spreadsheet would compute with an apostrophe before it."""
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell
