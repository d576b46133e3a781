"""Write the tables of docs/dependencies.md from the requirements and the licences."""

import re
from pathlib import Path

from tests.supply.licences import licences
from tests.supply.requirements import FILES, ROOT, entries

PAGE = "docs/dependencies.md"


def write_page() -> None:
    """Write the page with the tables as they have to be."""
    path = ROOT / PAGE
    path.write_text(with_tables(path.read_text()))


def faults(root: Path = ROOT) -> list[str]:
    """Return a sentence if the page has other tables than it has to have."""
    text = (root / PAGE).read_text()
    if with_tables(text, root) == text:
        return []
    return [f"{PAGE}: its tables are not those of the requirements: run make lock."]


def with_tables(text: str, root: Path = ROOT) -> str:
    """Return the text of the page with the tables as they have to be."""
    for file in FILES:
        before = f"<!-- from {file} -->\n\n"
        text = re.sub(rf"(?<={re.escape(before)})(?:\|.*\n)*", _table(file, root), text)
    return text


def _table(file: str, root: Path) -> str:
    """Return one row for each package that a file names."""
    asked = entries(file, root)
    said = licences([each.name for each in asked])
    rows = [
        f"| {each.requirement.name} | {each.version} | {said.get(each.name, '')} | {each.why} |\n"
        for each in asked
    ]
    head = "| package | version | licence | why |\n| --- | --- | --- | --- |\n"
    return head + "".join(rows)
