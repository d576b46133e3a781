"""Payloads of problems, as RFC 9457 describes them."""

from typing import NotRequired

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.payloads.declaring import described
from snapshots.payloads.recordings import Defect


@described
class Choice(TypedDict):
    """One of several things in a file.

    Attributes:
        format: the format that chooses it when the file is uploaded again.
        name: its name, for people.
        events: how many events it has; null where that is not known.
    """

    format: str
    name: str
    events: int | None


@described
class Problem(TypedDict):
    """A problem of RFC 9457, whose media type is application/problem+json.

    Attributes:
        type: the kind of problem, whose last part is for programs: ``/problems/not-found``.
        title: the kind of problem, in words.
        status: the status of HTTP.
        detail: what is wrong, as a sentence.
        line: the line of the input.
        field: the field of the request or of the line.
        excerpt: the beginning of that line, or the place in an expression, as text.
        defects: the first defects of the input.
        choices: the things in a file between which to decide.
        instead: the address of the page on which it can be done.
    """

    type: str
    title: str
    status: int
    detail: str
    line: NotRequired[int]
    field: NotRequired[str]
    excerpt: NotRequired[str]
    defects: NotRequired[list[Defect]]
    choices: NotRequired[list[Choice]]
    instead: NotRequired[str]
