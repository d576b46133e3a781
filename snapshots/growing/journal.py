"""The journal of an open recording: every event that was acknowledged, in the order of arrival.

A file of frames. The content of a frame begins with a letter: the header of the recording (always
the first frame), events, or the end. The header and events are followed by the time at which they
came. A frame of events then has a directory of its stretches and their lines, so that a journal is
opened without parsing an event.
"""

import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path

from snapshots.domain.assembling.assembly import Header
from snapshots.growing.bodies import Came, read_body
from snapshots.growing.errors import Contradiction, JournalClosed, JournalDamaged, JournalFull
from snapshots.growing.frames import Frames, framed
from snapshots.growing.runs import Gap, ProcessRuns, Stretch
from snapshots.readers.formats.json_lines import object_on
from snapshots.readers.formats.limits import Limits
from snapshots.readers.logs.headers import header_text, parse_header

_HEADER, _EVENTS, _CLOSED = b"H", b"E", b"C"
_OPENED = struct.Struct("<cq")  # the letter, and nanoseconds since 1970
_COUNT = struct.Struct("<cqI")  # the same, and the number of entries
_ENTRY = struct.Struct("<4q")  # process, first index, events, bytes of their lines
_LinesOf = Callable[[Stretch], list[bytes]]
_ANY = Limits(processes=2**31, channels=2**31)  # of a header that was checked when it came


@dataclass(frozen=True, slots=True)
class Taken:
    """What a body brought: ``new`` events, and ``known`` ones that were there before."""

    new: int
    known: int


@dataclass(frozen=True, slots=True)
class Received:
    """What a journal has at one moment.

    Attributes:
        events: how many events are there.
        missing: how many events are missing in all gaps together.
        gaps: the first gaps, in the order of the header.
        gap_count: how many gaps there are.
        size: the bytes of what is there.
        heard_at: when something new came last, or the journal began, in nanoseconds since 1970.
    """

    events: int
    missing: int
    gaps: list[Gap]
    gap_count: int
    size: int
    heard_at: int


def first_frame(header: Header) -> bytes:
    """Return the bytes with which the file of a new journal begins."""
    return framed(_OPENED.pack(_HEADER, time.time_ns()) + header_text(header))


class Journal:
    """The open journal of one recording. Safe for threads and processes.

    Attributes:
        runs: what is there of each process, in the order of the header.
        events: how many events are there.
        is_closed: whether the journal takes no more events.
        heard_at: when something new came last, or the journal began, in nanoseconds since 1970.
    """

    def __init__(self, path: Path) -> None:
        """Open a journal and read which events it has.

        Raises: FileNotFoundError, JournalDamaged, OSError.
        """
        self._frames = Frames(path)
        self._name = path.name
        self.runs: list[ProcessRuns] = []
        self.events = 0
        self.is_closed = False
        self.heard_at = 0
        self._header: bytes = b""
        try:
            self.read_on()
            if not self._header:
                raise JournalDamaged(f"The journal {path.name} has no header.")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file; the journal itself stays open for others."""
        self._frames.close()

    @property
    def size(self) -> int:
        """Return the bytes of what is there."""
        return self._frames.end

    @property
    def version(self) -> tuple[int, int]:
        """Return which file is open, as device and inode."""
        return self._frames.version

    @property
    def is_gone(self) -> bool:
        """Tell whether the file was removed."""
        return self._frames.is_gone

    @cached_property
    def header(self) -> Header:
        """The header of the recording."""
        return parse_header(object_on(self._header, 1), 1, _ANY)

    def read_on(self) -> int:
        """Note what other processes have written; return how many events that is.

        Raises: JournalDamaged, JournalGone, OSError.
        """
        with self._frames.locked():
            before = self.events
            self._read_on()
            return self.events - before

    def take(self, body: bytes, most_bytes: int, longest_line: int = Limits().line_bytes) -> Taken:
        """Add the events of a body that are not there yet. They are on the disk on return.

        Args:
            body: lines of the native format, each with its index.
            most_bytes: the most bytes that the journal may have.
            longest_line: the most bytes of an event.

        Raises: InputRefused; Contradiction; JournalClosed; JournalFull; JournalDamaged;
            JournalGone; OSError. Then nothing of the body is added.
        """
        came = read_body(body, self.header, longest_line)
        with self._frames.locked():
            self._catch_up()
            if self.is_closed:
                raise JournalClosed("The recording is closed: it takes no more events.")
            lines_of = lru_cache(maxsize=1)(self.lines_of)  # many events may be in one stretch
            fresh = [part for each in came for part in self._new_parts(each, lines_of)]
            new = sum(len(part.events) for part in fresh)
            if fresh:
                self._append(_content(fresh), most_bytes)
            self._frames.sync()
        return Taken(new, sum(len(each.events) for each in came) - new)

    def end(self) -> None:
        """Take no more events. Raises: JournalDamaged, JournalGone, OSError."""
        with self._frames.locked():
            self._catch_up()
            if not self.is_closed:
                self._note(self._frames.append(_CLOSED), _CLOSED)

    def received(self, most_gaps: int) -> Received:
        """Return what was noted so far, with at most so many gaps."""
        with self._frames.alone():
            gaps = self.gaps(most_gaps)
            return Received(
                self.events, self.missing, gaps, self.gap_count, self.size, self.heard_at
            )

    def gaps(self, most: int) -> list[Gap]:
        """Return the first gaps, at most so many, in the order of the header."""
        processes = zip(self.header.topology.processes, self.runs, strict=True)
        found = (
            Gap(process.id, first, end - first)
            for process, runs in processes
            for first, end in runs.holes
        )
        return list(islice(found, most))

    @property
    def gap_count(self) -> int:
        """Return how many gaps there are."""
        return sum(len(runs.holes) for runs in self.runs)

    @property
    def missing(self) -> int:
        """Return how many events are missing in all gaps together."""
        return sum(runs.missing for runs in self.runs)

    def lines_of(self, stretch: Stretch) -> list[bytes]:
        """Return the lines of a stretch, without their line breaks."""
        return self.read(stretch.begin, stretch.size).split(b"\n")[:-1]

    def read(self, begin: int, count: int) -> bytes:
        """Return some bytes of the journal's file."""
        return self._frames.read(begin, count)

    def _catch_up(self) -> None:
        self._read_on()
        self._frames.cut()

    def _read_on(self) -> None:
        for begin, content in self._frames.read_on():
            self._note(begin, content)
        self._frames.require_sound()

    def _append(self, content: bytes, most_bytes: int) -> None:
        if self.size + len(content) > most_bytes:
            raise JournalFull(
                f"With this body the recording would have more than {most_bytes:,} bytes, the most "
                "that this server takes. Close it, and go on in another one."
            )
        self._note(self._frames.append(content), content)

    def _new_parts(self, came: Came, lines_of: _LinesOf) -> Iterator[Came]:
        """Yield what is not there yet. Raises: Contradiction."""
        at, end = came.first, came.first + len(came.events)
        for stretch in self.runs[came.process].overlapping(came.first, end):
            if stretch.first > at:
                yield _part(came, at, stretch.first)
            at = min(stretch.first + stretch.count, end)
            there = lines_of(stretch)
            self._require_same(came, stretch, there, range(max(came.first, stretch.first), at))
        if at < end:
            yield _part(came, at, end)

    def _require_same(
        self, came: Came, stretch: Stretch, there: list[bytes], indices: range
    ) -> None:
        """Check events against the lines ``there`` of a stretch. Raises: Contradiction."""
        for index in indices:
            old, new = there[index - stretch.first], came.events[index - came.first]
            if old != new:
                name = self.header.topology.processes[came.process].id
                raise Contradiction(name, index, came.lines[index - came.first], old, new)

    def _note(self, begin: int, content: bytes) -> None:
        letter = content[:1]
        if letter == _EVENTS:
            _, self.heard_at, _ = _COUNT.unpack_from(content)
            for process, pairs in groupby(_stretches(begin, content), itemgetter(0)):
                stretches = [stretch for _, stretch in pairs]
                self.runs[process].add(stretches)
                self.events += sum(stretch.count for stretch in stretches)
        elif letter == _HEADER:
            _, self.heard_at = _OPENED.unpack_from(content)
            self._header = content[_OPENED.size :]
            self.runs = [ProcessRuns() for _ in self.header.topology.processes]
        elif letter == _CLOSED:
            self.is_closed = True
        else:
            raise JournalDamaged(f"The journal {self._name} has a frame of an unknown kind.")


def _part(came: Came, first: int, end: int) -> Came:
    """Return the events first .. end - 1."""
    begin, stop = first - came.first, end - came.first
    return Came(came.process, first, came.events[begin:stop], came.lines[begin:stop])


def _content(parts: list[Came]) -> bytes:
    """Return the content of a frame of events."""
    lines = [b"".join(line + b"\n" for line in part.events) for part in parts]
    directory = [
        _ENTRY.pack(part.process, part.first, len(part.events), len(text))
        for part, text in zip(parts, lines, strict=True)
    ]
    return b"".join([_COUNT.pack(_EVENTS, time.time_ns(), len(parts)), *directory, *lines])


def _stretches(begin: int, content: bytes) -> Iterator[tuple[int, Stretch]]:
    """Yield the process and the stretch of each entry of a frame whose content is at ``begin``."""
    _, _, count = _COUNT.unpack_from(content)
    at = begin + _COUNT.size + count * _ENTRY.size
    entries = memoryview(content)[_COUNT.size : _COUNT.size + count * _ENTRY.size]
    for process, first, events, size in _ENTRY.iter_unpack(entries):
        yield process, Stretch(first, events, at, size)
        at += size
