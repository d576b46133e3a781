"""Reads a whole log: its expressions (from its first lines, or of a known form) and executions.

Source: docs/formats/shiviz.md, "A whole file".
"""

from dataclasses import dataclass
from pathlib import Path

from snapshots.domain.model.defects import InputRefused, quoted, refuse
from snapshots.readers.formats.compression import open_stream
from snapshots.readers.formats.limits import Limits
from snapshots.readers.formats.lines import BYTE_ORDER_MARK
from snapshots.readers.logs.base import HEAD_BYTES
from snapshots.readers.logs.shiviz.clocks import Edges, edges
from snapshots.readers.logs.shiviz.events import (
    NEEDED,
    Events,
    Part,
    parts,
    read_part,
    valid_events,
)
from snapshots.readers.logs.shiviz.expressions import Expression, compiled
from snapshots.readers.logs.shiviz.known import EXECUTIONS, FORMS, Form, recognised
from snapshots.readers.logs.shiviz.scanning import Scanner

MOST_TEXT = 128 * 2**20  # bytes of a log
MOST_CHOICES = 100  # executions that a refusal offers
MOST_COUNTED = 4 * 2**20  # bytes of a log whose events are counted for that
COUNTING_SECONDS = 1.0


@dataclass(frozen=True)
class Log:
    """A log and how to read it.

    Attributes:
        delimiter: the expression between executions. None means that the log is one execution.
        form: the name of the recognised form. None means that the log gives its expressions.
    """

    text: bytes
    parser: Expression
    delimiter: Expression | None
    form: str | None
    parts: tuple[Part, ...]


def has_expressions(first_line: bytes) -> bool:
    """Return whether a file's first line is a parser expression."""
    return b"(?<" in first_line


def glance(source: Path, limits: Limits) -> None:
    """Check that the head of a log has right expressions, or events of a known form.

    Raises: InputRefused.
    """
    with open_stream(source, limits) as stream:
        text = b""
        while len(text) < HEAD_BYTES and (block := stream.read()):
            text += block
    first, second, *_ = [*text.removeprefix(BYTE_ORDER_MARK).split(b"\n", 2), b""]
    if not has_expressions(first):
        _recognised(text)
        return
    compiled(first.decode("utf-8", "replace").strip(), NEEDED)
    if delimiter := second.decode("utf-8", "replace").strip():
        compiled(delimiter)


def open_log(source: Path, limits: Limits) -> Log:
    """Read a whole log and cut it into executions. Raises: InputRefused."""
    text = _text(source, limits)
    scanner = Scanner()
    first, _, rest = text.partition(b"\n")
    if has_expressions(first):
        second = rest.partition(b"\n")[0]
        start = min(len(text), len(first) + len(second) + 2)
        return _given(text, first.decode().strip(), second.decode().strip(), start, scanner)
    form = _recognised(text)
    delimiter = compiled(EXECUTIONS)
    executions = tuple(parts(text, 0, 1, delimiter, scanner))
    is_one = len(executions) == 1 and not executions[0].name
    parser = compiled(form.parser, NEEDED)
    return Log(text, parser, None if is_one else delimiter, form.name, executions)


def _recognised(text: bytes) -> Form:
    """Return the form of a log without expressions. Raises: InputRefused."""
    if (form := recognised(text)) is not None:
        return form
    known = "; ".join(f"{form.name} ({form.title})" for form in FORMS)
    raise refuse(
        "unknown-format",
        "The log has no event in any known form of log with vector clocks. Put the "
        f"parser expression on its first line. The known forms are: {known}.",
    )


def _given(text: bytes, parser: str, delimiter: str, start: int, scanner: Scanner) -> Log:
    """Return the log as its expressions read it.

    They stand for whole lines, unless they find more events when they need not.
    """
    logs = []
    for whole in (True, False):
        breaks = compiled(delimiter, whole_lines=whole) if delimiter else None
        expression = compiled(parser, NEEDED, whole_lines=whole)
        executions = tuple(parts(text, start, 3, breaks, scanner))
        valid = sum(sum(valid_events(text, part, expression, scanner)) for part in executions)
        logs.append((valid, Log(text, expression, breaks, None, executions)))
    return max(logs, key=lambda log: log[0])[1]


def _text(source: Path, limits: Limits) -> bytes:
    """Return the whole text, with \\n at the ends of lines. Raises: InputRefused."""
    most = min(limits.total_bytes, MOST_TEXT)
    with open_stream(source, limits) as stream:
        pieces, size = [], 0
        while piece := stream.read():
            size += len(piece)
            if size > most:
                raise refuse(
                    "too-large",
                    f"The log has more than {most:,} bytes, the most that is read of such a log.",
                )
            pieces.append(piece)
    text = b"".join(pieces).removeprefix(BYTE_ORDER_MARK)
    try:
        text.decode()
    except UnicodeDecodeError as error:
        raise refuse(
            "not-utf8",
            f"The log is not UTF-8 at this line (byte 0x{text[error.start]:02x}).",
            line=text.count(b"\n", 0, error.start) + 1,
        ) from None
    if not text or text.isspace():
        raise refuse("empty", "The file is empty: it holds no event.")
    return text.replace(b"\r\n", b"\n")


def chosen(log: Log, execution: str | None) -> Part:
    """Return the execution of this name or else of this number (from 1); None means the only one.

    Raises: InputRefused (``several-executions``).
    """
    if not log.parts:
        raise refuse("empty", "The log holds nothing beside its expressions.")
    if execution is None and len(log.parts) == 1:
        return log.parts[0]
    for part in log.parts:
        if execution == part.name:
            return part
    if execution is not None and execution in map(str, range(1, len(log.parts) + 1)):
        return log.parts[int(execution) - 1]
    listed = ", ".join(quoted(part.name) for part in log.parts[:20])
    if execution is None:
        raise refuse(
            "several-executions",
            f"The log holds {len(log.parts)} executions: {listed}. Each is a recording of its own: "
            'choose one with the format "shiviz:" and its name, or its number, as in "shiviz:1".',
            field="format",
            choices=choices(log),
        )
    raise refuse(
        "several-executions", f"No execution is named {quoted(execution)}. The log holds {listed}."
    )


def choices(log: Log) -> list[dict[str, object]]:
    """Return what a person may choose from: the first MOST_CHOICES executions.

    Each has ``format``, ``name`` and ``events``, which is None if counting takes too long.
    """
    names, scanner = {part.name for part in log.parts}, Scanner(COUNTING_SECONDS)
    offered: list[dict[str, object]] = []
    for number, part in enumerate(log.parts[:MOST_CHOICES], 1):
        # The number is short, whatever the name. In rare logs it is the name of another execution.
        key = part.name if str(number) in names else str(number)
        events = _counted(log, part, scanner)
        offered.append({"format": f"shiviz:{key}", "name": part.name, "events": events})
    return offered


def _counted(log: Log, part: Part, scanner: Scanner) -> int | None:
    """Return how many events an execution has, None if counting them takes too long."""
    if len(log.text) > MOST_COUNTED:
        return None
    try:
        return sum(valid_events(log.text, part, log.parser, scanner))
    except InputRefused:
        return None


def read_execution(log: Log, part: Part, limits: Limits) -> tuple[Events, Edges]:
    """Return the events and messages of one execution. Raises: InputRefused."""
    events = read_part(log.text, part, log.parser, Scanner(), limits)
    return events, edges(events.clocks)
