"""The sentences of a page that speak of data in flight, mode, completeness and state.

Links to download a table say nothing of it, and are left out.
"""

import re
from html.parser import HTMLParser

from django.http import HttpResponse

from tests.web.given import text_of

TOPICS = re.compile(
    r"in flight|\bflight\b|known|commit|complete|\bwrote\b|missing|damaged|spoil|empty|lack|keeps|"
    r"acknowledg|marker|barrier|align|recorded|derived|judged|never|incomplete|progress\b|0 B\b|"
    r"not JSON|how far",
    re.IGNORECASE,
)
_BLOCKS = {
    *("p", "li", "dd", "dt", "td", "th", "tr", "h1", "h2", "h3", "summary", "caption", "label"),
    *("div", "section", "table", "ul", "ol", "dl", "details", "form", "nav", "button"),
}
_SKIPPED = {"script", "style", "head", "header", "footer"}


class _Blocks(HTMLParser):
    """Collects the text of each block of a page; the text of a block ends where another begins."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[str] = []
        self._text = ""
        self._skipping = 0
        self._downloads = False

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self._skipping += tag in _SKIPPED
        self._break(tag)
        if "downloads" in (dict(attrs).get("class") or "").split():
            self._downloads = True

    def handle_endtag(self, tag: str) -> None:
        self._skipping -= tag in _SKIPPED
        self._break(tag)
        self._downloads = self._downloads and tag != "p"

    def handle_data(self, data: str) -> None:
        if not self._skipping and not self._downloads:
            self._text += data

    def _break(self, tag: str) -> None:
        if tag in _BLOCKS:
            if text := " ".join(self._text.split()):
                self.blocks.append(text)
            self._text = ""


def blocks_of(answer: HttpResponse) -> list[str]:
    """Return the texts of a page's blocks, in their order."""
    parser = _Blocks()
    parser.feed(text_of(answer))
    return parser.blocks


def sentences_of(answer: HttpResponse) -> list[str]:
    """Return those that speak of one of the topics."""
    return [block for block in blocks_of(answer) if TOPICS.search(block)]
