"""Finds every match of an expression in a text, in order and within a limited time.

A search covers WINDOW bytes at most, so that the clock is read between searches however slow the
expression is. A match that is longer than half of WINDOW is not found.
"""

import time
from collections.abc import Iterator
from typing import NamedTuple

from snapshots.domain.model.defects import quoted, refuse
from snapshots.readers.logs.shiviz.expressions import Expression

WINDOW = 2**17  # bytes
SECONDS = 30.0  # of this thread's own time


class Match(NamedTuple):
    """The bytes ``start`` to before ``end`` of a text, which an expression matches.

    Attributes:
        values: the values of the expression's groups in order, empty for a group without a part in
            it.
    """

    start: int
    end: int
    values: tuple[bytes, ...]


class Scanner:
    """Searches with one expression or several, for at most ``seconds`` of this thread's time."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._left = seconds

    def matches(self, expression: Expression, text: bytes, start: int, end: int) -> Iterator[Match]:
        """Yield the matches in ``text[start:end]`` that are not empty.

        Raises: InputRefused (``bad-expression``) if that takes too long.
        """
        position = start
        while position < end:
            stop = min(end, position + WINDOW)
            later = position + WINDOW // 2  # what begins from here on may not fit the window
            match = self._search(expression, text, position, stop)
            first, last = (later, later) if match is None else match.span()
            if stop < end and first >= later:
                position = later
            elif match is None:
                return
            elif stop < end and last == stop:  # the match may go on behind the window
                position = first if first > position else stop
            elif first == last:
                position = last + 1
            else:
                yield Match(first, last, match.groups(b""))
                position = last

    def _search(self, expression: Expression, text: bytes, start: int, end: int):
        began = time.thread_time()
        match = expression.engine.search(text, start, end)
        self._left -= time.thread_time() - began
        if self._left < 0:
            raise refuse(
                "bad-expression",
                f"Searching with the expression {quoted(expression.text)} takes too long.",
            )
        return match
