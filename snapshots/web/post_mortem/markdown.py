"""Write a document as a zip of one Markdown file and an SVG for each diagram."""

import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from snapshots.domain.proving.claims import CHECKPOINT
from snapshots.quantities import counted
from snapshots.web.post_mortem.bars import bars_svg
from snapshots.web.post_mortem.document import Claim, Document, Figure, Row
from snapshots.web.post_mortem.space_time import space_time_svg
from snapshots.web.post_mortem.tables import Table
from webapp import direction
from webapp.markdown import is_link
from webapp.version import VERSION

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-.!|~])")
_UNSAFE = re.compile(r"<|!\[|^ {0,3}\[[^\]]*\]:", re.MULTILINE)  # also addresses by reference
_FIRST_MOMENT = (1980, 1, 1, 0, 0, 0)  # of the files, so that equal documents are equal bytes
_NOT_IN_IT = (
    "This file has no checker: the HTML file of the same document derives each claim again from "
    "its own data."
)


def write_markdown(document: Document) -> bytes:
    """Return the zip. The same document gives the same bytes."""
    files = {"post-mortem.md": "\n\n".join(_parts(document)) + "\n"}
    for row in document.rows:
        for figure in row.figures:
            files[_file_of(figure.claim)] = _drawn(document, figure.claim)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            info = zipfile.ZipInfo(name, _FIRST_MOMENT)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, text.encode("utf-8", "replace"))
    return packed.getvalue()


def _drawn(document: Document, claim: Claim) -> str:
    """Return the SVG of a claim: the bars of a checkpoint, or the events around a cut."""
    if claim["kind"] == CHECKPOINT:
        return bars_svg(document.proof.checkpoints[claim["evidence"]])
    return space_time_svg(document.proof.log(claim["evidence"]), claim)


def _file_of(claim: Claim) -> str:
    return f"figures/{claim['id']}.svg"


def _parts(document: Document) -> Iterator[str]:
    yield f"# {plain(document.title)}"
    yield "\n".join(f"* {plain(name)}: {plain(words)}" for name, words in document.facts)
    if document.summary:
        yield "## Summary"
        yield as_markdown(document.summary)
    if document.people:
        yield "## People"
        people = ((person, part or "not said") for person, part in document.people)
        yield _table(("person", "part"), people)
    yield f"## {document.heading}"
    if document.hidden:
        yield f"{counted(document.hidden, 'row')} of the timeline hidden by the authors."
    if document.cut_short:
        yield f"{counted(document.cut_short, 'more row')} not in this file."
    if not document.rows:
        yield "There are none."
    for row in document.rows:
        yield from _row(row)
    if document.undrawn:
        yield f"{counted(document.undrawn, 'more claim')} without a figure here."
    if document.exhibits:
        yield "## Exhibits"
    for name, notice, claims in document.exhibits:
        yield f"### {plain(name)}"
        yield from filter(None, (plain(notice), _claims(claims)))
    for name, total, sentences in document.proof.defects():
        yield f"{counted(total, 'defect')} of the log {plain(name)}:"
        more = [f"{total - len(sentences):,} more"] if total > len(sentences) else []
        yield "\n".join(f"* {plain(sentence)}" for sentence in [*sentences, *more])
    yield f"Written by Cutline {plain(VERSION)}. {_NOT_IN_IT}"


def _row(row: Row) -> Iterator[str]:
    if row.is_group:
        yield f"### {plain(row.text)}"
        return
    if row.after_group:
        yield f"### After the group {plain(row.after_group)}"
    head = [f"**{plain(row.name)}**" if row.name else "", plain(row.when), plain(row.author)]
    due = f"due {plain(row.due_on)}" if row.due_on else ""
    resolved = "resolved" if row.is_resolved else ""
    yield ", ".join(filter(None, [*head, plain(row.about), due, resolved]))
    yield from (f"> {plain(row.sentence)}" for _ in range(bool(row.sentence)))
    yield from filter(None, (plain(row.notice), plain(row.edited), as_markdown(row.text)))
    for author, text in row.answers:
        yield f"{plain(author)} answered:"
        yield as_markdown(text)
    if row.claims:
        yield _claims(row.claims)
    for figure in row.figures:
        yield from _figure(figure)


def _figure(figure: Figure) -> Iterator[str]:
    yield f"![{plain(figure.caption)}]({_file_of(figure.claim)})"
    for table in figure.tables:
        yield from _titled(table)


def _titled(table: Table) -> Iterator[str]:
    if not table.head:
        yield f"{plain(table.title)}."
        return
    yield f"{plain(table.title)}:"
    yield _table(table.head, table.rows)
    if table.hidden:
        yield f"{counted(table.hidden, 'more row')} not shown."


def _claims(claims: Iterable[Claim]) -> str:
    return "\n".join(
        f"* {claim['id']}: {plain(claim['sentence'] or claim['about'])}"
        + (f" ({plain(claim['why_not'])})" if "why_not" in claim else "")
        for claim in claims
    )


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    names = list(map(plain, head))
    lines = [names, ["---"] * len(names), *(list(map(plain, row)) for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def plain(text: str) -> str:
    """Return a text on one line that no Markdown reader formats."""
    line = " ".join(direction.in_text(text).split())
    html = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", html)


def as_markdown(text: str) -> str:
    """Return people's Markdown; one with HTML, pictures or unusual addresses as it was typed.

    A path of the server is unusual, because it leads nowhere from the file.
    """
    shown = direction.in_text(text)
    if not _UNSAFE.search(shown) and _is_harmless(shown):
        return shown
    longest = max((len(run) for run in re.findall(r"~+", shown)), default=0)
    fence = "~" * max(3, longest + 1)
    return f"{fence}\n{shown}\n{fence}"


def _leads_out(address: str) -> bool:
    return is_link(address) and not address.startswith("/")


class _Parser(MarkdownIt):
    """A parser that makes a link of each address, so that ``is_link`` judges all of them."""

    def validateLink(self, url: str) -> bool:  # noqa: N802, the name that the parser calls
        """Take every address for one of a link."""
        return True


_PARSER = _Parser("commonmark", {"html": False})


def _is_harmless(text: str) -> bool:
    """Tell whether a text has only usual links, and neither headings nor an open fence.

    A definition of an address is valid for the whole file, also inside a quote or a list. An open
    fence would take in what follows: a paragraph after the text shows whether it does.
    """
    env: dict[str, Any] = {}
    tokens = _PARSER.parse(f"{text}\n\nend", env)
    if env.get("references") or any(token.type == "heading_open" for token in tokens):
        return False
    is_closed = tokens[-1].type == "paragraph_close" and tokens[-1].level == 0
    return is_closed and all(map(_leads_out, _addresses(tokens)))


def _addresses(tokens: Iterable[Token]) -> Iterator[str]:
    """Yield where the links of a parsed text lead."""
    for token in tokens:
        for part in token.children or ():
            if part.type == "link_open":
                yield str(part.attrs["href"])
