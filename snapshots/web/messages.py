"""The messages of a recording's websocket: the registry from which docs/websocket.md is printed.

``python -m snapshots.web.messages`` writes the tables of that page again.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "websocket.md"


@dataclass(frozen=True, slots=True)
class Message:
    """One type of message.

    Attributes:
        types: the values of ``type``; several where they have the same fields.
        fields: the fields beside it, as the table shows them.
        meaning: what the client asks for, or what the server says.
        taken: of a message of the client, what the server does with it: ``asked`` answers once,
            ``played`` belongs to a session of playing, ``shared`` reaches others.
    """

    types: tuple[str, ...]
    fields: str
    meaning: str
    taken: str = ""


OF_A_CLIENT = (
    Message(
        ("window",),
        '"request", "from", "to", "width", "axis", "only"',
        'Request what is drawn between two coordinates. With `"only": "markers"`, events and '
        "messages are left out.",
        "asked",
    ),
    Message(
        ("cut",),
        '"request", "positions" or "at" or "step"',
        "Request the content of a cut. `positions` is an object with a position for each process, "
        "or a list in the order of the processes. `limit`, `outline` and the other fields of "
        "[a part](api.md#parts-of-a-cut-or-a-snapshot) are as over HTTP.",
        "asked",
    ),
    Message(
        ("search",),
        '"request", "query", "limit", "offset" or "from_step"',
        "Request the events that hold all words of a query.",
        "asked",
    ),
    Message(
        ("play",),
        '"session", "at" or "step", "rate", "idle", "snapshot", "process_codes", '
        '"channel_codes", "restored", "sequence"',
        "[Play](#playing) from a place on, which is the instant `at` or so many events as `step` "
        "says. With `restored`, the id of a snapshot, play [its restored run](#a-restored-run). "
        "With `sequence`, the client has all frames up to there, and the next one has the number "
        "after it.",
        "played",
    ),
    Message(
        ("pause",),
        '"session", "at" or "step"',
        "Send no further frames.",
        "played",
    ),
    Message(
        ("seek",),
        '"session", "at" or "step", and the other fields of `play`',
        "Show a place: a key frame comes. A session that plays goes on from there.",
        "played",
    ),
    Message(
        ("speed",),
        '"session", "rate", "speed"',
        "Play at another rate, from the end of the frames that were sent.",
        "played",
    ),
    Message(
        ("step",),
        '"session", "at" or "step", "by", and the other fields of `play`',
        "Show the place of the event that is `by` events after a place, or before it if `by` is "
        "negative: a key frame comes, which has the same `by`.",
        "played",
    ),
    Message(
        ("read",),
        '"session", "sequence"',
        "Say which frame was read, with all before it. So the next ones come.",
        "played",
    ),
    Message(
        ("follow",),
        '"role"',
        "Ask for the role `presenter`, whose view is shared, become a `follower`, who receives it, "
        "or with `none` end both.",
        "shared",
    ),
    Message(
        ("view",),
        '"view", "playing", "speed", "revision"',
        "Share the presenter's complete view: `View` in `static/js/types.d.ts`.",
        "shared",
    ),
    Message(
        ("here",),
        '"axis", "at"',
        "Say where the cursor of this client is.",
        "shared",
    ),
    Message(
        ("point",),
        '"axis", "at", "process", "channel"',
        "Point at a moment, a process or a channel.",
        "shared",
    ),
    Message(
        ("offer",),
        '"person"',
        "As the presenter, hand over to a person who asked to present, or offer it to one who did "
        "not.",
        "shared",
    ),
    Message(
        ("decline",),
        "",
        "Refuse the requests to present, or the offer to do so.",
        "shared",
    ),
)

OF_THE_SERVER = (
    Message(("window",), '"request", …', "the window ([see below](#the-window))"),
    Message(("cut",), '"request", …', "the same answer as `POST /api/recordings/{id}/cuts`"),
    Message(
        ("search",),
        '"request", …',
        "the same answer as `GET /api/recordings/{id}/search`. If `complete` is false, the same "
        "request goes on.",
    ),
    Message(
        ("frame",),
        '"session", "sequence", "axis", "from", "at", "ends", "exact", "events_total", …',
        "a frame of a session of playing ([see below](#frames))",
    ),
    Message(("refused",), '"request", "detail"', "why a request was not answered"),
    Message(
        ("entry",),
        '"id", "change"',
        "an entry was `made`, `changed` or `deleted`; `GET /api/entries/{id}` returns it, also if "
        "an answer to it changed",
    ),
    Message(
        ("room",),
        '"people", "total", "presenter", "requests", "offered_to", "you"',
        "who is here and who presents, when that has changed",
    ),
    Message(
        ("view",),
        '"view", "playing", "speed", "revision", "age", "person", "name", "page", "recording"',
        "the presenter's view, for followers",
    ),
    Message(
        ("cursor",),
        '"at" or "step", "playing", "speed", "by", "client"',
        "where the cursor of a presenter was moved without a view, for followers",
    ),
    Message(
        ("point",),
        '…, "person", "name", "page", "recording"',
        "what somebody else points at",
    ),
    Message(
        ("head",),
        '"extent", "counts", "came", "judged", "under_way", "missing", "waits", "waits_total"',
        "how far an open recording has come: at first, and when that changes, at most twice a "
        "second. `came` counts the events on the server's disk, `counts` what is shown of them; "
        "`under_way` counts the snapshots that have begun and are not judged; `missing` are absent "
        "before others. `waits` has 20 processes at most whose next event waits for the send of "
        "`what` on `channel`.",
    ),
    Message(("closed",), "", "the open recording was closed, and is read as a whole now"),
    Message(
        ("beat",),
        "",
        "the connection is alive; comes at least every 6 s where people look together",
    ),
)


def taken(*how: str) -> tuple[str, ...]:
    """Return the types of the client's messages with which the server does one of these."""
    return tuple(name for each in OF_A_CLIENT if each.taken in how for name in each.types)


def table(head: str, messages: Iterable[Message]) -> str:
    """Return messages as a table in Markdown."""
    rows = (f"| `{_shape(each)}` | {each.meaning} |" for each in messages)
    return "\n".join([f"| {head} | meaning |", "| --- | --- |", *rows])


def _shape(message: Message) -> str:
    types = " or ".join(f'"{name}"' for name in message.types)
    return f'{{"type": {types}{", " if message.fields else ""}{message.fields}}}'


def tables() -> dict[str, str]:
    """Return the tables of the page by the beginnings of their heads."""
    return {
        head: table(head, messages)
        for head, messages in (
            ("the client sends", OF_A_CLIENT),
            ("the server sends", OF_THE_SERVER),
        )
    }


def printed(page: str) -> str:
    """Return a page with its tables written again."""
    for head, text in tables().items():
        begin = page.index(f"| {head} | meaning |")
        page = page[:begin] + text + page[page.index("\n\n", begin) :]
    return page


if __name__ == "__main__":
    PAGE.write_text(printed(PAGE.read_text()))
