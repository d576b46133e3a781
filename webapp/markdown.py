"""Turn people's Markdown into HTML that can only format text.

The parser knows no HTML, and its output passes an allow list. Links lead to web pages, to mail
addresses and to paths of this server; pictures are shown as links, so that no page fetches
anything from elsewhere.

A text that would take long to render, such as one of thousands of table cells, is shown as it was
typed.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

import nh3
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from webapp import direction

MOST_CHARACTERS = 50_000
MOST_NESTED = 50  # quotes and lists in one another; the parser leaves out what is deeper
MOST_CELLS = 3_000  # of tables; the parser adds the cells that short rows lack
MOST_MARKS = 2_000  # characters that may begin or end a format
MOST_TOKENS = 20_000  # of a parsed text
KEPT = 128  # rendered texts in memory
TAGS = {
    *("p", "br", "hr", "h3", "h4", "h5", "h6", "blockquote", "ul", "ol", "li"),
    *("em", "strong", "s", "code", "pre", "a"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}, "td": {"align"}, "th": {"align"}}
_TOP_HEADING = 3  # a page has headings of its own above the text
_LINK = re.compile(r"https?://[^/\\]|mailto:|/(?![/\\])|#", re.IGNORECASE)
_TO_PATH = re.compile(r'<a href="(/[^"]*)"(?: \w+="[^"]*")*>(.*?)</a>', re.DOTALL)  # as nh3 writes
_MARK = re.compile(r"[\[\]*_~`<&\\]")
_BELOW_HEAD = " \t|:->*+.)0123456789"  # with what may stand before it in lists and quotes
_ALIGN = re.compile(r"text-align:(left|right|center)")


@lru_cache(maxsize=KEPT)
def to_html(text: str) -> SafeString:
    """Return the HTML of a text; of a longer one than MOST_CHARACTERS the beginning, and a note.

    The note says how many characters are not shown. Another note says why a text is shown as it was
    typed.
    """
    clean = nh3.clean(
        _rendered(text[:MOST_CHARACTERS]),
        tags=TAGS,
        attributes=ATTRIBUTES,
        attribute_filter=_kept,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener nofollow",
    )
    return mark_safe(direction.in_html(clean) + _note(len(text) - MOST_CHARACTERS))


def to_html_in_file(text: str) -> SafeString:
    """Return the HTML of a text for a file, in which no path leads to this server.

    A link to such a path becomes its words, with the path behind them.
    """
    return mark_safe(_TO_PATH.sub(_words_and_path, to_html(text)))


def _words_and_path(link: re.Match[str]) -> str:
    path, words = link[1].replace("<", "&lt;").replace(">", "&gt;"), link[2]
    return words if words == path else f"{words} ({path})"


def is_link(address: str) -> bool:
    """Return whether a link may lead to this address."""
    return bool(_LINK.match(address))


def _rendered(text: str) -> str:
    """Return the parser's HTML, or the text itself with the reason why it is not formatted."""
    if reason := _too_long_to_parse(text):
        return _as_typed(text, reason)
    tokens = _PARSER.parse(text)
    if any(token.level >= MOST_NESTED - 2 for token in tokens):  # the parser leaves out a part
        return _as_typed(text, f"its lists and quotes are nested more than {MOST_NESTED // 2} deep")
    if sum(1 + len(token.children or ()) for token in tokens) > MOST_TOKENS:
        return _as_typed(text, f"it has more than {MOST_TOKENS:,} formatted parts")
    return _PARSER.renderer.render(tokens, _PARSER.options, {})


def _too_long_to_parse(text: str) -> str:
    """Say why a text would take long to parse; empty if it would not."""
    marks = len(_MARK.findall(text))
    if marks > MOST_MARKS:
        return f"it has {marks:,} characters that may stand for a format, more than {MOST_MARKS:,}"
    if _most_cells(text) > MOST_CELLS:
        return f"its tables may have more than {MOST_CELLS:,} cells"
    return ""


def _most_cells(text: str) -> int:
    """Return a number of cells that the tables of a text do not exceed.

    Each row of a table has as many cells as the line below its head.
    """
    lines = text.splitlines()
    below = (line for line in lines if "|" in line and not line.strip(_BELOW_HEAD))
    return max((line.count("|") + 1 for line in below if "-" in line), default=0) * len(lines)


def _as_typed(text: str, reason: str) -> str:
    words = f"This text is shown as it was typed, because {reason}."
    return f"<p><em>{words}</em></p><pre>{escape(text)}</pre>"


def _kept(tag: str, attribute: str, value: str) -> str | None:
    return value if attribute != "href" or is_link(value) else None


def _note(hidden: int) -> str:
    return f"<p><em>{hidden:,} more characters are not shown.</em></p>" if hidden > 0 else ""


class _Parser(MarkdownIt):
    """The parser, with our rule of what may be a link; anything else stays as it was written."""

    def validateLink(self, url: str) -> bool:  # noqa: N802, the name of the library
        return is_link(url)


def _parser() -> MarkdownIt:
    parser = _Parser("commonmark", {"html": False, "maxNesting": MOST_NESTED})
    parser.enable(["table", "strikethrough"]).disable("image")
    for name in ("heading_open", "heading_close"):
        parser.add_render_rule(name, _heading)
    for name in ("td_open", "th_open"):
        parser.add_render_rule(name, _cell)
    return parser


def _heading(
    renderer: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: EnvType
) -> str:
    """Render a heading below those of the page: # is h3, #### and all below it are h6."""
    tokens[place].tag = f"h{min(int(tokens[place].tag[1]) + _TOP_HEADING - 1, 6)}"
    return renderer.renderToken(tokens, place, options, env)


def _cell(
    renderer: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: EnvType
) -> str:
    """Render a cell whose alignment is an attribute, for the policy stops styles."""
    align = _ALIGN.match(str(tokens[place].attrs.pop("style", "")))
    if align:
        tokens[place].attrs["align"] = align[1]
    return renderer.renderToken(tokens, place, options, env)


_PARSER = _parser()
