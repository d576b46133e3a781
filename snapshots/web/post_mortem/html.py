"""Write a document as one HTML file that needs no network and checks itself."""

import base64
import hashlib
import json
from functools import cache
from pathlib import Path

import plotly
from django.conf import settings
from django.template.loader import render_to_string
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from snapshots.web.post_mortem.document import Document
from snapshots.web.post_mortem.inlining import escaped, script_of
from webapp.version import VERSION

CHECKER = "views/post-mortem/index.js"
STYLES = ("tokens.css", "post-mortem.css")
_PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
_IN_SCRIPTS = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


def write_html(document: Document) -> bytes:
    """Return the file. The same document gives the same bytes."""
    context = {
        "document": document,
        "version": VERSION,
        "policy": policy(),
        "style": mark_safe(style()),
        "data": json_in_script(document.data),
        "checker": mark_safe(script_of(CHECKER)),
        "plotly": mark_safe(plotly_script()) if document.figures else "",
    }
    return render_to_string("snapshots/post_mortem/document.html", context).encode()


def json_in_script(value: object) -> SafeString:
    """Return JSON that stands in an element ``script`` and cannot end it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for sign, code in _IN_SCRIPTS.items():
        text = text.replace(sign, code)
    return mark_safe(text)


@cache
def policy() -> str:
    """Return the content security policy: only the scripts and the style of the file itself."""
    scripts = " ".join(map(_hash, (script_of(CHECKER), plotly_script())))
    return escape(
        f"default-src 'none'; script-src {scripts}; style-src {_hash(style())}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def plotly_script() -> str:
    """Return Plotly as the installed package has it."""
    return escaped(_PLOTLY.read_text(encoding="utf-8"))


@cache
def style() -> str:
    """Return the style sheets of a document as one."""
    folder = Path(settings.BASE_DIR) / "static" / "css"
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in STYLES)
