"""Read the text log of an engine: a message is looked at only if a sign of it is in its line.

Each engine has its messages as signs, which all lines are searched for at once, and patterns.
Lines without a sign are counted.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import re2

from snapshots.readers.formats.log_lines import (
    Clock,
    Cut,
    LogAccount,
    LogLine,
    parsed,
    raw_lines,
)

LONGEST_LOOKED_AT = 4_000  # characters of a line in which a message begins
MOST_TRACE = 200  # lines of a stack trace
_LONGEST_TRACE_LINE = 1_000  # characters


Taking = Callable[[LogLine], bool]
"""Takes a line behind a message; false if it is the last one."""


@dataclass(frozen=True)
class Messages:
    """The messages that an engine's log is searched for.

    Attributes:
        patterns: the kind of each message, and what it looks like.
        signs: a group for each pattern: what a line must have before the pattern is tried.
    """

    patterns: tuple[tuple[str, re.Pattern[str]], ...]
    signs: Any  # of re2, which has no types


def messages(*each: tuple[str, str, str], start: str) -> Messages:
    """Return messages, each a kind, a sign and a pattern that follows ``start``."""
    patterns = tuple((kind, re.compile(start + pattern)) for kind, _, pattern in each)
    return Messages(patterns, re2.compile("|".join(f"({sign})" for _, sign, _ in each).encode()))


class EngineLog:
    """Reads one log. Each engine has a subclass, whose ``told`` takes each message."""

    def __init__(self, path: str, messages: Messages) -> None:
        self.account = LogAccount(path)
        self.clock = Clock()
        self.trace: Taking | None = None
        self._messages = messages

    def told(self, kind: str, match: re.Match[str], line: LogLine) -> None:
        """Take a message of a kind."""
        raise NotImplementedError

    def read(self, file: Path) -> LogAccount:
        """Read the log to its end, and return how far it was read."""
        try:
            for number, raw in raw_lines(file):
                self.account.lines = number
                if sign := self._messages.signs.search(raw):
                    self._telling(parsed(number, raw), sign.lastindex - 1)
                elif self.trace is not None:
                    self._further(parsed(number, raw))
        except Cut as cut:
            self.account.problem = str(cut)
        self.account.is_without_zone = self.clock.is_without_zone
        return self.account

    def place(self, line: LogLine) -> str:
        """Return where a line stands, such as ``driver.log:12``."""
        return f"{self.account.path}:{line.number}"

    def moment(self, line: LogLine) -> tuple[str, int | None]:
        """Return where a line stands, and when it was written in epoch ms.

        If the zone of the log is not known, the place has the time as the log writes it.
        """
        at = self.clock.at(line)
        written = line.written if at is None else ""
        return f"{self.place(line)}{f', {written} by its clock' if written else ''}", at

    def expect_trace(self, into: list[str], line: LogLine) -> None:
        """Take the stack trace that follows a line, or that is in it, into a list."""
        if line.trace:
            into.extend(line.trace[: MOST_TRACE * _LONGEST_TRACE_LINE].splitlines()[:MOST_TRACE])
            return

        def take(following: LogLine) -> bool:
            into.append(following.text[:_LONGEST_TRACE_LINE])
            return len(into) < MOST_TRACE

        self.trace = take

    def _further(self, line: LogLine) -> None:
        if line.begins or self.trace is None or not self.trace(line):
            self.trace = None

    def _telling(self, line: LogLine, place: int) -> None:
        if not line.begins and self.trace is not None:
            self._further(line)
            return
        self.trace = None
        kind, pattern = self._messages.patterns[place]
        if match := pattern.search(line.text, 0, LONGEST_LOOKED_AT):
            self.account.told += 1
            self.told(kind, match, line)
