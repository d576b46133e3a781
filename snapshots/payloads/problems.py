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
    """

    format: str
    name: str
    events: int | None


@described
class Problem(TypedDict):
    """A problem of RFC 9457, whose media type is application/problem+json.

    Attributes:
        line: the line of the input.
        field: the field of the request or of the line.
        choices: the things in a file between which to decide.
        instead: the address where it can be done.
    """

    type: str
    title: str
    status: int
    detail: str
    line: NotRequired[int]
    field: NotRequired[str]
    defects: NotRequired[list[Defect]]
    choices: NotRequired[list[Choice]]
    instead: NotRequired[str]
