"""Reads a log that is one JSON document; a reader's ``events_of`` says which events it holds.

Several documents, one a line, are read as a list of them.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import orjson

from snapshots.domain.model.defects import refuse, times
from snapshots.domain.model.recording import RECEIVE, SEND
from snapshots.quantities import duration
from snapshots.readers.formats.compression import open_stream
from snapshots.readers.formats.limits import Limits
from snapshots.readers.logs.json_events import TIME_UNIT, JsonEventsReader, LineEvent, Reading

_MOST_SHOWN = 3  # messages in a sentence
MOST_BYTES = 64 * 2**20  # of a document, which is read at once


class DocumentReader(JsonEventsReader):
    """Base class of readers of whole documents. A reader defines ``events_of``.

    Attributes:
        member: a name that each item of the document has once, which shows the item's line.
    """

    member: str

    def events_of(self, document: object, lines: "Lines") -> Iterable[tuple[int, Reading]]:
        """Yield each event with its line, those of one process in their order."""
        raise NotImplementedError

    def glance(self, source: Path, limits: Limits) -> None:
        """Check nothing: a document shows only as a whole whether it can be read."""

    def readings(self, source: Path, limits: Limits) -> Iterator[tuple[int, Reading]]:
        """Yield the events of the document. Raises: InputRefused."""
        text = _text(source, limits)
        yield from self.events_of(_document(text), Lines(text, self.member))


def _document(text: bytes) -> object:
    """Return the document, or a list of one for each line. Raises: InputRefused."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        lines = [line for line in text.split(b"\n") if line.strip()]
        if len(lines) > 1 and error.lineno > 1:
            with suppress(orjson.JSONDecodeError):
                return [orjson.loads(line) for line in lines]
        raise refuse(
            "not-json",
            f"The document is not JSON ({error.msg}). Was the file cut short?",
            line=error.lineno,
        ) from None


class Lines:
    """The line on which each item of a document has a member; 1 for all if they cannot be told."""

    def __init__(self, text: bytes, member: str) -> None:
        self._found: list[int] = []
        line, done = 1, 0
        for match in re.finditer(rb'"' + member.encode() + rb'"\s*:', text):
            line += text.count(b"\n", done, match.start())
            done = match.start()
            self._found.append(line)

    def of(self, place: int, items: int) -> int:
        """Return the line of an item by its place in the document, which has ``items`` of them."""
        return self._found[place] if len(self._found) == items else 1


def _text(source: Path, limits: Limits) -> bytes:
    most = min(limits.total_bytes, MOST_BYTES)
    pieces, size = [], 0
    with open_stream(source, limits) as stream:
        while piece := stream.read():
            size += len(piece)
            if size > most:
                sentence = f"The document has more than {most:,} bytes, the most that is read."
                raise refuse("too-large", sentence)
            pieces.append(piece)
    return b"".join(pieces).removeprefix(b"\xef\xbb\xbf")


def messages_of(readings: Iterable[tuple[int, Reading]]) -> Iterator[tuple[str, str]]:
    """Yield each message that was sent and received: its id, and from whom to whom.

    Times, where there are any, count from the earliest event.
    """
    events = [reading for _, reading in readings if isinstance(reading, LineEvent)]
    began = min((event.at for event in events if event.at is not None), default=0)
    sent = {(event.link, event.message): event for event in events if event.kind == SEND}
    for event in events:
        source = sent.get((event.link, event.message))
        if event.kind == RECEIVE and event.message is not None and source is not None:
            yield event.message, f"from {_at(source, began)} to {_at(event, began)}"


def message_sentence(parts: str, readings: Iterable[tuple[int, Reading]]) -> dict[str, str]:
    """Say how many messages a log has, and the first of them.

    ``parts`` begins the sentence, as "The traces have 3 spans of 2 services".
    """
    found = list(messages_of(readings))
    shown = "; ".join(f"{message} {ends}" for message, ends in found[:_MOST_SHOWN])
    more = len(found) - _MOST_SHOWN
    if not found:
        return {"level": "fact", "text": f"{parts} and no message between them that is known."}
    others = f"; and {more:,} more" if more > 0 else ""
    return {
        "level": "fact",
        "text": f"{parts} and {times(len(found), 'message')}: {shown}{others}.",
    }


def _at(event: LineEvent, began: int) -> str:
    if event.at is None:
        return event.process
    return f"{event.process} ({duration(event.at - began, TIME_UNIT)})"


def objects(value: object) -> list[dict]:
    """Return the objects of a list; none for anything else."""
    return [item for item in value if type(item) is dict] if isinstance(value, list) else []


def mapping(value: object) -> dict:
    """Return an object; an empty one for anything else."""
    return value if type(value) is dict else {}


def name(value: object) -> str | None:
    """Return a text that can name a process, None for anything else."""
    fits = isinstance(value, str) and value.strip() and len(value) <= 200 and "\x00" not in value
    return str(value) if fits else None
