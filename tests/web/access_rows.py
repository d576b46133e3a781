"""The table of who may do what: each request with the rule that it follows.

A rule says what each of PEOPLE gets. The visitor and the reader have no account. The visitor has
opened a public link to the recording ``banks``, which shows neither notes nor downloads, and the
reader one to the review ``review``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from snapshots.services.sharing import KINDS
from tests.web.access_table import TABLE
from webapp.operating.people_pages import ACTIONS

DONE = "done"
ROLE = "role"  # 403 needs-role: the person sees it, and their role does not allow the request
NOT_YOURS = "not-yours"  # 403 not-yours: somebody else wrote it
DOWN = "503"  # a probe says that no Redis runs beside the tests
HIDDEN = "404"  # the same answer as for what does not exist
SIGN_IN = "sign-in"  # a page leads to the sign-in, a call answers 401

# The first four belong to the team that owns everything in the table.
PEOPLE = (
    *["owner", "editor", "commenter", "viewer"],
    *["outsider", "operator", "signed-out", "visitor", "reader"],
)
_RULES = """
         owner     editor    commenter viewer outsider operator signed-out visitor reader
sees     done      done      done      done   404      404      sign-in    sign-in sign-in
shown    done      done      done      done   404      404      sign-in    done    sign-in
read     done      done      done      done   404      404      sign-in    sign-in done
comments done      done      done      role   404      404      sign-in    sign-in sign-in
edits    done      done      role      role   404      404      sign-in    sign-in sign-in
leads    done      role      role      role   404      404      sign-in    sign-in sign-in
leaves   done      role      role      done   404      404      sign-in    sign-in sign-in
wrote    not-yours not-yours done      role   404      404      sign-in    sign-in sign-in
has      done      404       404       404    404      404      sign-in    sign-in sign-in
operates 404       404       404       404    404      done     sign-in    sign-in sign-in
anyone   done      done      done      done   done     done     sign-in    sign-in sign-in
public   done      done      done      done   done     done     done       done    done
nothing  404       404       404       404    404      404      404        404     404
commands 503       503       role      role   404      404      sign-in    sign-in sign-in
probes   503       503       503       503    503      503      503        503     503
by-link  done      done      done      done   done     done     done       done    done
"""
RULES = {
    name: dict(zip(PEOPLE, outcomes, strict=True))
    for name, *outcomes in map(str.split, _RULES.strip().splitlines()[1:])
}

THINGS = {
    "recordings": "{banks}",
    "topologies": "{topology}",
    "mappings": "{mapping}",
    "archive": "{archived}",
    "collectors": "{collector}",
    "reviews": "{review}",
}
OPERATOR = "operator=9c32e3838cee893dbb2fc90ccad79598&state=totalAmount"
_NAME = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Row:
    """One request of the table.

    Attributes:
        rule: the name of the rule that it follows.
        method: the HTTP method.
        address: the path with its query; names in braces stand for things.
        body: a JSON object with such names, or an empty text.
    """

    rule: str
    method: str
    address: str
    body: str

    def __str__(self) -> str:
        return " ".join(filter(None, [self.method, self.address, self.body]))

    @property
    def is_call(self) -> bool:
        return self.address.startswith("/api/")

    @property
    def is_file(self) -> bool:
        """Tell whether it asks for a static file, which has no pattern."""
        return self.address.startswith("/static/")


def filled(text: str, things: Mapping[str, object]) -> str:
    """Replace each name in braces by the number or text of its thing."""
    return _NAME.sub(lambda match: str(things[match[1]]), text)


def _rows() -> list[Row]:
    lines = [(rule, line) for rule, text in TABLE.items() for line in text.split("\n") if line]
    return [_row(rule, line) for rule, each in lines for line in _expanded(each)]


def _expanded(line: str) -> list[str]:
    """Return the line for each kind of thing, or for each action of an operator."""
    line = line.replace("OPERATOR", OPERATOR)
    if "THING" in line:
        return [line.replace("THING", f"{kind}/{THINGS[kind]}") for kind in KINDS]
    return [line.replace("ACTION", action) for action in ACTIONS] if "ACTION" in line else [line]


def _row(rule: str, line: str) -> Row:
    method, address, *body = line.split(" ", 2)
    return Row(rule, method, address, "".join(body))


ROWS = _rows()
