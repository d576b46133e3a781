"""Turn people's Markdown into HTML that can only format text.

The parser knows no HTML, and its output passes an allow list. Links lead to web pages, to mail
addresses and to paths of this server; pictures are shown as links, so that no page fetches
anything from elsewhere.
"""

import re
from collections.abc import Sequence

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
TAGS = {
    *("p", "br", "hr", "h3", "h4", "h5", "h6", "blockquote", "ul", "ol", "li"),
    *("em", "strong", "s", "code", "pre", "a"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}, "td": {"align"}, "th": {"align"}}
_TOP_HEADING = 3  # a page has headings of its own above the text
_LINK = re.compile(r"https?://[^/\\]|mailto:|/(?![/\\])|#", re.IGNORECASE)
_ALIGN = re.compile(r"text-align:(left|right|center)")


def to_html(text: str) -> SafeString:
    """Return the HTML of a text; of a longer one than MOST_CHARACTERS the beginning, and a note.

    The note says how many characters are not shown.
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


def is_link(address: str) -> bool:
    """Return whether a link may lead to this address."""
    return bool(_LINK.match(address))


def _rendered(text: str) -> str:
    """Return the parser's HTML, or the text itself where the parser would leave out a part."""
    tokens = _PARSER.parse(text)
    if any(token.level >= MOST_NESTED - 2 for token in tokens):
        return f"<pre>{escape(text)}</pre>"
    return _PARSER.renderer.render(tokens, _PARSER.options, {})


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
