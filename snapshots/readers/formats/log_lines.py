"""Read the lines of an engine's text log, whatever layout log4j or logback gave them.

A line has a time, or it belongs to the line before, as the frames of a stack trace do. Times are
found in ISO form, with or without a zone, also behind what Docker or Kubernetes put in front.
Lines of JSON layouts, one object a line, are read, too. Packed logs (gzip) are unpacked on the way.
"""

import gzip
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, cast

import orjson

LONGEST_LINE = 2**20  # bytes; the rest of a longer line is passed over
MOST_BYTES = 2 * 2**30  # of one log, unpacked
GZIP = b"\x1f\x8b"
_ROTATED = re.compile(r"(.*?\.(?:log|out))\.(\d{1,6})(?:\.gz)?$")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIME = re.compile(
    rb"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[,.](\d{1,9}))?\s?(Z|[+-]\d\d:?\d\d)?"
)
_SHORT_YEAR = re.compile(rb"(?:^|\s)(\d\d)/(\d\d)/(\d\d) (\d\d:\d\d:\d\d)\s")  # of Spark
_QUARTER = 15 * 60 * 1000  # ms; offsets of zones are multiples of it
_MOST_LATE = 60_000  # ms between an event and its line
_FARTHEST_ZONE = 16 * 60 * 60 * 1000  # ms
_TIME_OF_DAY = re.compile(rb"\d\d:\d\d:\d\d(?:[,.]\d{1,9})?\s")
_TIME_WITHIN = 120  # bytes of a line, in which its time stands
_MESSAGES, _TIMES = ("message", "msg", "log"), ("@timestamp", "timestamp", "time", "ts", "instant")
_TRACES = ("stack_trace", "stackTrace", "exception", "thrown", "error.stack_trace")
_IN_TRACE = ("stacktrace", "extendedStackTrace", "stack_trace", "message")


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of a log.

    Attributes:
        number: its place in the log, from 1.
        text: the line, or the message of a line of JSON.
        begins: whether a record begins with it; other lines belong to the record before.
        head: the bytes in which its time stands.
        instant: the time of a line of JSON, and whether it has a zone. None of all others.
        trace: the stack trace in a line of JSON; empty in all others.
    """

    number: int
    text: str
    begins: bool
    head: bytes = b""
    instant: tuple[int | None, bool] | None = None
    trace: str = ""

    def time(self) -> tuple[int | None, bool]:
        """Return its time in epoch milliseconds, and whether that is the time of a zone.

        A time without a zone is taken as if it were UTC. It is None if the line has no date.
        """
        return self.instant if self.instant is not None else _time(self.head)

    @property
    def written(self) -> str:
        """Return the time of the line as the log writes it; empty if it has none."""
        found = _TIME.search(self.head) or _SHORT_YEAR.search(self.head)
        return found[0].decode().strip() if found else ""


class Clock:
    """Finds the instants of a log's lines, whose times have no zone.

    A line of which the instant is known, too, shows how far they are ahead of UTC.
    """

    def __init__(self) -> None:
        self.is_without_zone = False  # whether an instant could not be given
        self._anchor: tuple[LogLine, int] | None = None

    def anchor(self, line: LogLine, at: int) -> None:
        """Take a line and its instant in epoch ms."""
        self._anchor = line, at

    def at(self, line: LogLine) -> int | None:
        """Return when a line was written, in epoch ms; None if its zone is not known."""
        at, has_zone = line.time()
        if at is None or has_zone:
            return at
        offset = self._offset()
        self.is_without_zone |= offset is None
        return None if offset is None else at - offset

    def _offset(self) -> int | None:
        if self._anchor is None:
            return None
        line, epoch = self._anchor
        at, _ = line.time()
        offset = 0 if at is None else round((at - epoch) / _QUARTER) * _QUARTER
        is_close = at is not None and abs(at - epoch - offset) < _MOST_LATE
        return offset if is_close and abs(offset) <= _FARTHEST_ZONE else None


@dataclass
class LogAccount:
    """How far a log was read.

    Attributes:
        lines: how many lines it has.
        told: how many of them tell of checkpoints, restores, restarts or failures.
        problem: why it was not read to its end, as a sentence. None if it was.
        is_without_zone: whether times of it are not known as instants.
    """

    path: str
    lines: int = 0
    told: int = 0
    problem: str | None = None
    is_without_zone: bool = False

    def sentence(self) -> str:
        """Return how much of the log was understood."""
        zone = " Its times have no zone, and no line shows one: they are not given."
        zone = zone if self.is_without_zone else ""
        cut = f" {self.problem}" if self.problem else ""
        return (
            f"{self.path}: {self.told:,} of {self.lines:,} lines tell of checkpoints, restores, "
            f"restarts or failures; the others are not read.{zone}{cut}"
        )


def age_of(path: str) -> tuple[str, int]:
    """Return what orders rotated logs from the oldest to the newest."""
    rotated = _ROTATED.match(path)
    return (rotated[1], -int(rotated[2])) if rotated else (path.removesuffix(".gz"), 0)


class Cut(ValueError):
    """A log is not read to its end; the message says why, as a sentence."""


def beginning(start: bytes) -> bytes:
    """Return the first bytes of a log, unpacked if they are packed; empty if that fails."""
    if not start.startswith(GZIP):
        return start
    try:
        return zlib.decompressobj(31).decompress(start, 2**16)
    except zlib.error:
        return b""


def raw_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a log with their numbers. Raises: Cut."""
    with path.open("rb") as plain:
        packed = plain.read(2) == GZIP
        plain.seek(0)
        file = cast("IO[bytes]", gzip.GzipFile(fileobj=plain) if packed else plain)
        left, number = MOST_BYTES, 0
        try:
            while line := file.readline(LONGEST_LINE):
                number += 1
                left -= len(line)
                yield number, line
                while line and not line.endswith(b"\n") and left > 0:
                    line = file.readline(LONGEST_LINE)
                    left -= len(line)
                if left <= 0:
                    raise Cut(f"Only the first {MOST_BYTES // 2**30} GiB of it are read.")
        except (EOFError, OSError, zlib.error):
            raise Cut(f"It cannot be unpacked behind line {number:,}.") from None


def parsed(number: int, line: bytes) -> LogLine:
    """Return a line with its time and its message."""
    head = line.lstrip(b"\xef\xbb\xbf \x00")
    if head.startswith(b"{"):
        try:
            fields = orjson.loads(head)
        except orjson.JSONDecodeError:
            fields = None
        if isinstance(fields, dict) and (found := _of_json(number, fields)):
            return found
    text = line.decode("utf-8", "replace").rstrip()
    first = line[:_TIME_WITHIN]
    begins = not text[:1].isspace() and bool(
        _TIME.search(first) or _TIME_OF_DAY.match(head) or _SHORT_YEAR.search(first)
    )
    return LogLine(number, text, begins, first)


def _of_json(number: int, fields: Mapping[str, object]) -> LogLine | None:
    message = next((text for key in _MESSAGES if isinstance(text := fields.get(key), str)), None)
    if message is None:
        return None
    instant = _instant(next((fields[key] for key in _TIMES if key in fields), None))
    if "log" in fields and "message" not in fields:  # Docker puts a whole line there
        inner = parsed(number, message.encode())
        if instant[0] is None:
            instant = inner.time()
        return LogLine(number, inner.text, inner.begins, inner.head, instant, inner.trace)
    trace = next((_trace(fields[key]) for key in _TRACES if fields.get(key)), "")
    return LogLine(number, message, True, instant=instant, trace=trace)


def _instant(value: object) -> tuple[int | None, bool]:
    if isinstance(value, str):
        return _time(value.encode())
    if isinstance(value, dict):  # log4j's JsonLayout
        second, nano = value.get("epochSecond"), value.get("nanoOfSecond", 0)
        if type(second) is int and type(nano) is int and 0 < second < 2**40:
            return second * 1000 + nano // 10**6, True
        return None, False
    if type(value) is int and 10**12 < value < 10**14:
        return value, True
    return None, False


def _trace(value: object) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        return ""
    if isinstance(name := value.get("class"), str):  # of Spark's structured logging
        return f"{name}: {value.get('msg')}"
    return next((text for key in _IN_TRACE if isinstance(text := value.get(key), str)), "")


def _time(head: bytes) -> tuple[int | None, bool]:
    """Return the first time with a zone, else the first one, and whether it has a zone."""
    found: int | None = None
    for match in _TIME.finditer(head):
        day, clock, fraction, zone = (part and part.decode() for part in match.groups())
        try:
            moment = datetime.fromisoformat(f"{day}T{clock}{zone or '+00:00'}")
        except ValueError:
            continue
        at = (moment - _EPOCH) // timedelta(milliseconds=1) + int(f"{fraction or ''}000"[:3])
        if zone:
            return at, True
        if found is None:
            found = at
    if found is None and (short := _SHORT_YEAR.search(head)):
        year, month, day, clock = (part.decode() for part in short.groups())
        return _time(f"20{year}-{month}-{day} {clock}".encode())
    return found, False
