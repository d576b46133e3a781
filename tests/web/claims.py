"""What a page says, claim by claim: each text of its main part with what it is about.

A claim is the text of a paragraph, an item of a list, a cell of a table or an entry of a list of
facts. What stands in a tooltip belongs to the text, in brackets.
"""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import NamedTuple

_VOID = frozenset({"br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"})
_INLINE = frozenset({"a", "abbr", "code", "em", "label", "meter", "small", "span", "strong"})
_SILENT = frozenset({"script", "style", "template", "form", "button", "svg", "caption", "h1"})
_PARTS = frozenset({"section", "details"})
_HEADS = frozenset({"h2", "h3"})


class Claim(NamedTuple):
    """Something that a page says.

    Attributes:
        part: the title of the part of the page, such as ``Operators``.
        about: what it is about: the name of a fact, or the head of a row and of a column.
    """

    part: str
    about: str
    text: str


@dataclass
class _Open:
    """An element that is not closed yet.

    Attributes:
        title: the title of a part, as far as it has been read.
        key: the last name in a list of facts, or the head of a row.
    """

    tag: str
    attributes: dict[str, str]
    title: str = ""
    key: str = ""


@dataclass
class _Reading:
    """The texts of a page, read from its beginning to its end."""

    claims: list[Claim] = field(default_factory=list)
    stack: list[_Open] = field(default_factory=list)
    text: list[str] = field(default_factory=list)

    def last(self, *tags: str) -> _Open | None:
        return next((one for one in reversed(self.stack) if one.tag in tags), None)

    def is_silent(self) -> bool:
        """Tell whether what is open claims nothing, as a row of downloads."""
        return any(
            one.tag in _SILENT or "downloads" in one.attributes.get("class", "").split()
            for one in self.stack
        )

    def flush(self) -> None:
        """End a text, and note what it says, or what the next texts are about."""
        text = " ".join("".join(self.text).split())
        self.text.clear()
        if not text or self.last("main") is None or self.is_silent():
            return
        inner = self.last("dt", "dd", "th", "td", "summary", *_HEADS)
        tag = inner.tag if inner is not None else ""
        part = self.last(*_PARTS)
        if tag == "dt":
            self.stack[-2].key = text
        elif inner is not None and inner.attributes.get("scope") == "col":
            return
        elif tag == "th":
            if (row := self.last("tr")) is not None:
                row.key = row.key or text
            self._claim("", text)
        elif tag in _HEADS and part is not None and not part.title:
            part.title = text
        elif tag == "summary" and part is not None and not part.title:
            self._claim("", text)
            part.title = text
        elif tag == "dd":
            self._claim(self.stack[-2].key, text)
        elif tag == "td":
            assert inner is not None
            row = self.last("tr")
            label = inner.attributes.get("data-label", "")
            self._claim(f"{row.key if row else ''}, {label}", text)
        else:
            self._claim("", text)

    def _claim(self, about: str, text: str) -> None:
        parts = [one.title for one in self.stack if one.tag in _PARTS and one.title]
        self.claims.append(Claim(" / ".join(parts), about, text))


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.reading = _Reading()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        reading = self.reading
        if tag not in _INLINE:
            reading.flush()
        if tag in _VOID:
            return
        attributes = {name: value or "" for name, value in attrs}
        reading.stack.append(_Open(tag, attributes))

    def handle_endtag(self, tag: str) -> None:
        reading = self.reading
        if all(one.tag != tag for one in reading.stack):
            return
        if tag not in _INLINE:
            reading.flush()
        closed = reading.stack.pop()
        if tag in _INLINE and (title := closed.attributes.get("title")):
            reading.text.append(f" [{title}] ")
        assert closed.tag == tag, f"<{closed.tag}> is closed by </{tag}>"

    def handle_data(self, data: str) -> None:
        self.reading.text.append(data)


def claims_of(html: str) -> list[Claim]:
    """Return what a page says in its main part, in order."""
    page = _Page()
    page.feed(html)
    page.close()
    return page.reading.claims


def said(html: str) -> list[str]:
    """Return the claims of a page, each as one line."""
    return [": ".join(filter(None, claim)) for claim in claims_of(html)]
