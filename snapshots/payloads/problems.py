"""What went wrong, as RFC 9457 has it."""

from typing import NotRequired

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.payloads.recordings import Defect


class Choice(TypedDict):
    """One of several things in a file. format: names it in another upload of the file."""

    format: str
    name: str
    events: int | None


class Problem(TypedDict):
    """RFC 9457, media type application/problem+json. choices: between which to decide; instead:
    the address where it can be done."""

    type: str
    title: str
    status: int
    detail: str
    line: NotRequired[int]
    field: NotRequired[str]
    defects: NotRequired[list[Defect]]
    choices: NotRequired[list[Choice]]
    instead: NotRequired[str]
