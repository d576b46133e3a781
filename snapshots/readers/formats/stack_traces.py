"""Find the first cause in a stack trace of Java, also where it quotes a traceback of Python."""

import re
from collections.abc import Sequence
from itertools import pairwise, takewhile

LONGEST_MESSAGE = 500  # characters
LONGEST_TRACE = 4_000  # characters of a stack trace that are shown
_CAUSED_BY = "Caused by: "
_PYTHON_TRACEBACK = "Traceback (most recent call last):"
_PYTHON_RAISED = re.compile(r"[A-Za-z_][\w.]*(?:: |$)")
_CLASS = re.compile(r"[\w.$]+(?:Exception|Error|Throwable|Failure)\b")


def shortened(trace: str) -> str:
    """Return a stack trace, or its beginning and how much more it has."""
    if len(trace) <= LONGEST_TRACE:
        return trace
    left_out = len(trace) - LONGEST_TRACE
    return f"{trace[:LONGEST_TRACE]}\n… {left_out:,} more characters are not shown."


def first_cause(trace: str) -> tuple[str | None, str | None]:
    """Return class and message of the innermost cause that has a message; None if none has one.

    A cause that quotes a traceback of Python is replaced by the exception that Python raised.
    """
    lines = trace.splitlines()
    heads = [
        number
        for number, line in enumerate(lines)
        if line.startswith(_CAUSED_BY) or (number == 0 and line.strip())
    ]
    causes = [
        _raised_by_python(lines[head + 1 : end])
        if lines[head].endswith(_PYTHON_TRACEBACK)
        else _class_and_message(lines[head].removeprefix(_CAUSED_BY))
        for head, end in pairwise([*heads, len(lines)])
    ]
    with_message = [cause for cause in causes if cause[1]]
    return (with_message or causes or [(None, None)])[-1]


def _raised_by_python(lines: Sequence[str]) -> tuple[str | None, str | None]:
    """Return class and message of what Python raised first: the line after the frames.

    Python prints an exception before those that it caused.

    Args:
        lines: the traceback, and after it the frames of Java.
    """
    traceback = list(takewhile(lambda line: not line.startswith("\tat "), lines))
    raised = [
        line
        for frame, line in pairwise(traceback)
        if frame.startswith("  ") and _PYTHON_RAISED.match(line)
    ]
    if not raised:
        return None, None
    name, _, message = raised[0].partition(": ")
    return name, message.strip()[:LONGEST_MESSAGE] or None


def _class_and_message(line: str) -> tuple[str | None, str | None]:
    """Split ``java.io.IOException: No space left`` after its class, which may be missing."""
    name, _, message = line.strip().partition(": ")
    if _CLASS.fullmatch(name):
        return name, message.strip()[:LONGEST_MESSAGE] or None
    return None, line.strip()[:LONGEST_MESSAGE] or None
