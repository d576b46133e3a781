"""Cuts a log into executions, and an execution into events.

``Gathering`` also takes the events of logs that are no text with expressions.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson

from snapshots.domain.model.defects import OTHER_FILES, quoted, refuse
from snapshots.domain.model.listing import listed
from snapshots.domain.model.topology import ProcessId
from snapshots.readers.formats.fields import LONGEST_NAME
from snapshots.readers.formats.limits import Limits
from snapshots.readers.logs.shiviz.clocks import Clocks
from snapshots.readers.logs.shiviz.expressions import Expression
from snapshots.readers.logs.shiviz.holes import Hole, holes, recounted
from snapshots.readers.logs.shiviz.scanning import Scanner

NEEDED = ("host", "clock", "event")
MOST_SHOWN = 100  # places of skipped text that are listed
MOST_NAMED = 5  # hosts whose files lack
_SHOWN = 80  # characters of each that are shown
LARGEST_COUNT = 2**31 - 1


@dataclass(frozen=True)
class Part:
    """The text of one execution: ``text[start:end]``.

    Attributes:
        line: the number of the line on which it starts, from 1.
    """

    name: str
    start: int
    end: int
    line: int


@dataclass
class Skipped:
    """Text without an event.

    Attributes:
        places: the number and the beginning of each of the first MOST_SHOWN lines.
    """

    lines: int = 0
    places: list[tuple[int, str]] = field(default_factory=list)

    def add(self, text: bytes, line: int) -> None:
        """Add the text between two events; ``line`` is the number of its first line."""
        if not text or text.isspace():
            return
        for number, piece in enumerate(text.split(b"\n"), line):
            if stripped := piece.strip():
                self.lines += 1
                if len(self.places) < MOST_SHOWN:
                    shown = stripped[: 4 * _SHOWN].decode("utf-8", "replace")[:_SHOWN]
                    self.places.append((number, shown))


@dataclass(frozen=True, slots=True)
class Recorded:
    """What an event is beside its clock.

    Attributes:
        at: the time in microseconds; None if it is not known.
        state: the state of the host after the event, as canonical JSON.
        snapshots: the snapshots in which the host recorded this state.
        is_recording: whether the event itself is the recording. Else the host recorded behind it,
            and behind what it sent with this event's number.
    """

    at: int | None = None
    state: str | None = None
    snapshots: tuple[str, ...] = ()
    is_recording: bool = False


NOTHING_RECORDED = Recorded()


@dataclass(frozen=True)
class Events:
    """The events of one execution; lists have them in the order of the log.

    Attributes:
        order: int64[rows]: the place in the lists of each row of the clocks.
        own: int64[rows]: each event's own entry as it stands in the log.
        fields: the values of the parser's further groups.
        holes: the events that clocks count and that the log lacks.
    """

    name: str
    clocks: Clocks
    order: np.ndarray
    own: np.ndarray
    texts: list[str]
    fields: list[dict[str, Any]]
    clocks_shown: list[object]
    skipped: Skipped
    holes: list[Hole]
    recorded: list[Recorded]


def parts(
    text: bytes, start: int, line: int, delimiter: Expression | None, scanner: Scanner
) -> list[Part]:
    """Return the executions that hold something. Raises: InputRefused if two have the same name."""
    all_parts: list[Part] = []
    name, begin, begin_line = "", start, line
    if delimiter is not None:
        for match in scanner.matches(delimiter, text, start, len(text)):
            all_parts.append(Part(name, begin, match.start, begin_line))
            begin_line += text.count(b"\n", begin, match.end)
            begin = match.end
            name = dict(zip(delimiter.groups, match.values, strict=True)).get("trace", b"").decode()
    all_parts.append(Part(name, begin, len(text), begin_line))
    kept: dict[str, Part] = {}
    for part in all_parts:
        if not text[part.start : part.end].strip():
            continue
        if part.name in kept:
            raise refuse(
                "bad-expression",
                f"Two executions are named {quoted(part.name)}. The delimiter needs a group "
                "(?<trace>…) that names them differently.",
                line=part.line,
            )
        kept[part.name] = part
    return list(kept.values())


def read_part(
    text: bytes, part: Part, expression: Expression, scanner: Scanner, limits: Limits
) -> Events:
    """Return the events of one execution. Raises: InputRefused."""
    reading = Gathering(limits)
    places = [expression.groups.index(name) for name in NEEDED]
    further = [item for item in enumerate(expression.groups) if item[1] not in NEEDED]
    line, position = part.line, part.start
    for match in scanner.matches(expression, text, part.start, part.end):
        begin, end, values = match
        reading.skipped.add(text[position:begin], line)
        line += text.count(b"\n", position, begin)
        fields = {name: values[place].decode() for place, name in further}
        host, clock, event = (values[place] for place in places)
        reading.add(host.decode(), clock_value(clock), event.decode(), fields, line)
        line += text.count(b"\n", begin, end)
        position = end
    reading.skipped.add(text[position : part.end], line)
    if not reading.texts:
        where = f"execution {quoted(part.name)}" if part.name else "the log"
        raise refuse(
            "bad-expression",
            f"The expression {quoted(expression.text)} finds no event in {where}.",
            line=part.line,
        )
    return reading.events(part.name)


class Gathering:
    """Collects the events of one execution.

    A host's code is its place in the order in which the log names hosts.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._codes: dict[str, int] = {}
        self._hosts, self._own, self._lines = array("q"), array("q"), array("q")
        self._lengths, self._entry_hosts, self._entry_counts = array("q"), array("q"), array("q")
        self.texts: list[str] = []
        self._fields: list[dict[str, Any]] = []
        self._clocks_shown: list[object] = []
        self._recorded: list[Recorded] = []
        self.skipped = Skipped()

    def add(
        self,
        host: str,
        clock: object,
        event: str,
        fields: dict[str, Any],
        line: int,
        recorded: Recorded = NOTHING_RECORDED,
    ) -> None:
        """Add an event; ``clock`` is its clock, as ``clock_value`` returns it.

        Raises: InputRefused.
        """
        entries = _entries(clock, line)
        if 0 in entries.values():
            entries = {name: count for name, count in entries.items() if count}
        own = entries.get(host, 0)
        if not own:
            hint = "" if host else " Does the expression match a line that is not an event?"
            raise refuse(
                "bad-clock", f"The clock does not count the host {quoted(host)} itself.{hint}",
                line=line,
            )  # fmt: skip
        codes = self._codes
        if host not in codes or not codes.keys() >= entries.keys():
            for name in (host, *entries):
                self._code(name, line)
        self._hosts.append(codes[host])
        self._lengths.append(len(entries))
        self._entry_hosts.extend([codes[name] for name in entries])
        self._entry_counts.extend(entries.values())
        self._own.append(own)
        self._lines.append(line)
        self.texts.append(event)
        self._fields.append(fields)
        self._clocks_shown.append(clock)
        self._recorded.append(recorded)

    def _code(self, name: str, line: int) -> None:
        """Give a host a code if it has none yet. Raises: InputRefused."""
        if self._codes.setdefault(name, len(self._codes)) >= self._limits.processes:
            raise refuse(
                "too-many-processes",
                f"The log has more than {self._limits.processes:,} hosts, the most read here.",
                line=line,
            )
        if not name or len(name) > LONGEST_NAME or "\x00" in name:
            raise refuse("bad-clock", f"{quoted(name)} cannot name a host.", line=line)

    def events(self, name: str) -> Events:
        """Return all events. Raises: InputRefused, also if a host that clocks count has none."""
        hosts, own, lines = (np.array(a) for a in (self._hosts, self._own, self._lines))
        names = tuple(map(ProcessId, self._codes))
        per_host = np.bincount(hosts, minlength=len(names))
        if not per_host.all():
            raise self._silent(per_host, lines)
        order = np.lexsort((lines, own, hosts))
        rows = np.empty_like(order)
        rows[order] = np.arange(len(order))
        starts = np.concatenate(([0], np.cumsum(per_host)))
        self._check_own(names, hosts[order], own[order], lines[order])
        events = np.repeat(np.arange(len(order)), np.array(self._lengths))
        entry_hosts, entry_counts = np.array(self._entry_hosts), np.array(self._entry_counts)
        counts = recounted(own[order], starts, entry_hosts, entry_counts)
        keys = rows[events] * len(names) + entry_hosts
        kept = np.flatnonzero(counts)
        kept = kept[np.argsort(keys[kept])]
        latest = _latest(entry_hosts, entry_counts, lines[events], len(names))
        return Events(
            name,
            Clocks(names, starts, keys[kept], counts[kept], lines[order]),
            order,
            own[order],
            self.texts,
            self._fields,
            self._clocks_shown,
            self.skipped,
            holes(names, own[order], starts, lines[order], latest),
            self._recorded,
        )

    def _check_own(
        self, names: tuple[ProcessId, ...], hosts: np.ndarray, own: np.ndarray, lines: np.ndarray
    ) -> None:
        """Check that a host numbers no two events alike. Raises: InputRefused."""
        twice = np.flatnonzero((hosts[1:] == hosts[:-1]) & (own[1:] == own[:-1]))
        if len(twice):
            row = twice[0] + 1
            raise refuse(
                "bad-clock",
                f"The clock of {quoted(names[hosts[row]])} stands at {own[row]}, as on line "
                f"{lines[row - 1]}: a host counts each of its events once. Are two logs in one?",
                line=int(lines[row]),
            )

    def _silent(self, per_host: np.ndarray, lines: np.ndarray) -> Exception:
        """Return the refusal of a log whose clocks count events of hosts that have none."""
        codes = np.flatnonzero(per_host == 0)
        for line, shown in self.skipped.places:
            if shown.lstrip().startswith("{"):
                return refuse(
                    "bad-clock",
                    "A clock stands there without the name of its host before it: "
                    f"{quoted(shown)}. Without it nobody knows whose event that is.",
                    line=line,
                )
        missing = [quoted(list(self._codes)[code]) for code in codes.tolist()]
        ends = np.cumsum(self._lengths)
        event = int(np.searchsorted(ends, self._entry_hosts.index(int(codes[0])), "right"))
        both = "both" if len(self._codes) == 2 else "all files"
        where = "another file" if len(missing) == 1 else "other files"
        return refuse(
            OTHER_FILES,
            f"The clock names {listed(missing[:MOST_NAMED])}{_more(missing)}, whose events are in "
            f"{where}: each process writes its own. Upload {both} together, as one folder or "
            "package.",
            line=int(lines[event]),
        )


def _more(missing: list[str]) -> str:
    more = len(missing) - MOST_NAMED
    return f" and {more:,} more" if more > 0 else ""


def _latest(
    hosts: np.ndarray, counts: np.ndarray, lines: np.ndarray, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest entry for each host, and the line of the clock that has it."""
    order = np.lexsort((counts, hosts))
    last = np.searchsorted(hosts[order], np.arange(size), "right") - 1
    return counts[order][last], lines[order][last]


def _entries(value: object, line: int) -> dict[str, int]:
    if type(value) is not dict:
        raise refuse(
            "bad-clock",
            f"The clock {quoted(value)} is not a JSON object of hosts and counts.",
            line=line,
        )
    counts = value.values()
    if set(map(type, counts)) == {int} and min(counts) >= 0 and max(counts) <= LARGEST_COUNT:
        return value
    for name, count in value.items():
        if type(count) is not int or not 0 <= count <= LARGEST_COUNT:
            raise refuse(
                "bad-clock",
                f"The clock's entry for {quoted(name)} is {quoted(count)}, not a count.",
                line=line,
            )
    return value


def clock_value(clock: bytes) -> object:
    r"""Return the JSON value of a clock, also if its quotes stand as \"; else the text itself."""
    for text in (clock, clock.replace(b'\\"', b'"')):
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            continue
    return clock.decode("utf-8", "replace")


def valid_events(
    text: bytes, part: Part, expression: Expression, scanner: Scanner
) -> Iterator[bool]:
    """Yield for each match whether it can be an event: its clock has an entry of its host."""
    host_place, clock_place = expression.groups.index("host"), expression.groups.index("clock")
    for match in scanner.matches(expression, text, part.start, part.end):
        value = clock_value(match.values[clock_place])
        host = match.values[host_place].decode("utf-8", "replace")
        yield type(value) is dict and type(value.get(host)) is int
