"""Show the characters that change the direction of text, so that no name reads as another.

U+202E, for example, shows what follows from right to left: the name ``a`` U+202E ``txt.exe`` would
be read as ``aexe.txt``. Pages show such a character by its number instead. Addresses, values of
forms, the API and downloads keep it, because a name must stay what it is.
"""

import re

from django.http import HttpRequest, HttpResponse

_CONTROLS = "\u202a-\u202e\u2066-\u2069"  # embeddings, overrides, isolates, and their ends
_IN_TEXT = re.compile(f"[{_CONTROLS}]")
# What must stay as it is comes first: elements whose text is sent back or read, and any tag.
_IN_HTML = re.compile(
    rf"<(textarea|script|style)\b.*?</\1>|<[a-z/!][^<>]*>|[{_CONTROLS}]",
    re.IGNORECASE | re.DOTALL,
)

_READ = re.compile(r"""\s(title|aria-label|alt|placeholder)=("[^"]*"|'[^']*')""", re.IGNORECASE)


def in_text(text: str) -> str:
    """Return the text with the number of each such character in its place."""
    return _IN_TEXT.sub(lambda match: _number(match[0]), text)


def in_html(html: str) -> str:
    """Return HTML with such characters shown in what is read, and kept in addresses and forms."""
    return _IN_HTML.sub(lambda match: _part(match[0]), html) if _IN_TEXT.search(html) else html


def middleware(get_response):
    """Show such characters in every page."""

    def answer(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        is_page = response.get("Content-Type", "").startswith("text/html")
        if is_page and not response.streaming and "Content-Encoding" not in response:
            response.content = in_html(response.content.decode()).encode()
            if "Content-Length" in response:
                response.headers["Content-Length"] = str(len(response.content))
        return response

    return answer


def _part(part: str) -> str:
    """Return a tag, an element that stays as it is, or a single character as it is shown."""
    if len(part) == 1:
        return _number(part)
    end = part.index(">")
    return _READ.sub(lambda match: in_text(match[0]), part[:end]) + part[end:]


def _number(character: str) -> str:
    return f"⟨U+{ord(character):04X}⟩"
