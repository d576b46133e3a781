"""Read the address of a page that somebody wants to keep under a short link.

Only the path, query and fragment of our own pages pass, so that no link leads to another site.
"""

import unicodedata
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

from django.urls import Resolver404, ResolverMatch, resolve

from snapshots.problems import Invalid

LONGEST = 8_000  # characters
WORKBENCH = "recording"

# The names of the pages about one recording or one archived job which only show something.
OF_RECORDINGS = frozenset(
    [
        *[WORKBENCH, "answer", "defects", "snapshot-by-query", "snapshot", "checkpoints", "notes"],
        *["inventory", "checkpoint-inventory", "inventory-bytes", "upload-check", "restore-check"],
        *["inventory-difference", "inventory-difference-keys", "restore-plan", "upgrade"],
        *["proof", "smallest-part", "side-by-side", "rules", "states", "properties"],
        *["predicates", "bisect"],
    ]
)
OF_ARCHIVED_JOBS = frozenset(
    [
        *["archived-job", "archived-notes", "bisect-archived", "compare-archived"],
        "archived-checkpoint",
    ]
)
# The pages that name their recordings in the query: the parameter with the first one.
COMPARISONS = {"compare": "recordings", "compare-two": "left"}


@dataclass(frozen=True, slots=True)
class Page:
    """A page of ours.

    Attributes:
        name: the name of its URL pattern.
        number: the number of the recording or archived job that it is about.
    """

    name: str
    number: int

    @property
    def is_archived(self) -> bool:
        """Tell whether it is about an archived job, and not about a recording."""
        return self.name in OF_ARCHIVED_JOBS


def read_page(address: object) -> Page:
    """Return the page at an address, such as ``/recordings/7/proof?snapshot=s1``.

    Raises: Invalid.
    """
    if not isinstance(address, str) or not _is_plain(address):
        raise _not_ours()
    parts = urlsplit(address)
    path = unquote(parts.path)
    if not path.startswith("/") or {".", ".."} & set(path.split("/")):
        raise _not_ours()
    try:
        match = resolve(path)
    except Resolver404:
        raise _not_ours() from None
    return _page(match, parts.query)


def _is_plain(address: str) -> bool:
    """Tell whether an address begins at our root, and holds nothing that browsers change."""
    is_ours = address.startswith("/") and not address.startswith("//") and "\\" not in address
    has_controls = any(unicodedata.category(letter) in ("Cc", "Cs", "Zl") for letter in address)
    return is_ours and not has_controls and len(address) <= LONGEST


def _page(match: ResolverMatch, query: str) -> Page:
    name = match.url_name or ""
    if match.namespaces:
        raise _not_ours()
    if name in COMPARISONS:
        given = parse_qs(query).get(COMPARISONS[name], [""])[0].partition(",")[0]
        if given.isascii() and given.isdigit() and len(given) < 19:
            return Page(name, int(given))
    elif name in OF_RECORDINGS | OF_ARCHIVED_JOBS and "pk" in match.kwargs:
        return Page(name, match.kwargs["pk"])
    raise _not_ours()


def _not_ours() -> Invalid:
    return Invalid(
        "The address must be the path and query of a page about one recording or archived job, "
        f"such as /recordings/7/proof?snapshot=s1, with at most {LONGEST:,} characters.",
        field="address",
    )
