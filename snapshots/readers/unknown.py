"""Words the refusal of an input that no reader recognises: what it may be, and what can be read."""

from collections.abc import Iterable
from contextlib import suppress

from orjson import JSONDecodeError, loads

from snapshots.domain.model.defects import OTHER_FILES, InputRefused, quoted, refuse
from snapshots.domain.model.recording import KINDS
from snapshots.readers import foreign
from snapshots.readers.engines.base import EngineReader
from snapshots.readers.formats.head import Head
from snapshots.readers.formats.json_lines import fault
from snapshots.readers.formats.not_text import NOT_UTF8
from snapshots.readers.logs import cos418, headers
from snapshots.readers.logs.base import Reader
from snapshots.readers.logs.vector_timestamps import is_of_numbers

MAPPINGS = "/mappings"
"""The page on which people say what the fields of a log mean."""

TEXT_LOG = (
    "A text log is read if a parser expression on its first line finds host, clock and event "
    "(docs/formats/vector-clocks.md)."
)
_HEADERS = (headers.FORMAT, cos418.FORMAT)


def readable(logs: Iterable[Reader], engines: Iterable[EngineReader]) -> str:
    """Return a sentence that lists the formats that are read here."""
    listed = ", ".join(reader.title for reader in logs)
    written = ", ".join(reader.title for reader in engines)
    return f"Read here: {listed}; {written} (a folder, a package of it, or single files)."


def refusal(head: Head, read_here: str) -> InputRefused:
    """Return the refusal of an input that no reader recognises.

    ``read_here`` is the sentence of ``readable``.
    """
    named = foreign.named(head)
    if named is not None:
        return refuse("unknown-format", named.sentence)
    if head.not_text is not None:
        code, sentence = head.not_text
        if code == NOT_UTF8:
            return refuse(code, sentence, line=1)
        return refuse(code, f"{sentence} {read_here}")
    if is_of_numbers(head.start):
        return refuse(
            OTHER_FILES,
            "These look like the vector timestamps of one node, one line for each snapshot. Upload "
            "the files of all nodes together, as one folder or package.",
        )
    line, text = head.first_line
    try:
        fields = loads(text)
    except JSONDecodeError:
        return _not_json(text, line, read_here)
    if not isinstance(fields, dict):
        sentence = f"The first line is JSON but not a header object. {read_here}"
        return refuse("unknown-format", sentence, line=line)
    return _not_a_header(fields, line, read_here, are_lines=_are_lines(head, fields))


def _are_lines(head: Head, fields: dict) -> bool:
    """Tell whether a mapping could read the input: several objects, or one that is an event."""
    objects = 0
    for text in head.start.split(b"\n")[:10]:
        with suppress(JSONDecodeError):
            objects += isinstance(loads(text), dict)
    is_flat = not any(isinstance(value, list) for value in fields.values())
    return objects > 1 or (is_flat and objects == 1)


def _not_json(text: bytes, line: int, read_here: str) -> InputRefused:
    defect = fault(text, line)
    assert defect is not None  # the line is no JSON
    if defect.code == NOT_UTF8 or (text.lstrip().startswith(b'{"') and len(text) > 2):
        return InputRefused([defect])
    hint = ""
    if text.lstrip()[:1] not in (b"{", b"[", b'"'):
        sentence = f"This is a text of no format known here. {TEXT_LOG} {read_here}"
        return refuse("unknown-format", sentence, line=line)
    if text.strip() in (b"{", b"[", b"[{"):
        hint = " Is it one JSON document over many lines? Each event must be on a line of its own."
    return refuse("unknown-format", f"The first line is not JSON.{hint} {read_here}", line=line)


def _not_a_header(fields: dict, line: int, read_here: str, *, are_lines: bool) -> InputRefused:
    if fields.get("kind") == "header":
        return refuse(
            "unknown-format",
            f"The header's format is {quoted(fields.get('format'))}, which is not read here. The "
            f"known formats are {' and '.join(_HEADERS)}.",
            line=line,
            field="format",
        )
    if fields.get("kind") in KINDS or isinstance(fields.get("process"), str):
        return refuse(
            "header-missing",
            'The first line is an event, not the header: an object with "kind":"header" that '
            "names the processes and channels must come first.",
            line=line,
            field="kind",
        )
    if not are_lines:
        sentence = f"The file is one JSON object, and of no format known here. {read_here}"
        return refuse("unknown-format", sentence, line=line)
    return refuse(
        "unknown-format",
        "The line is a JSON object, but neither a header nor an event of a format known here. "
        f"On {MAPPINGS} you can say which of its fields is the process, which the kind of the "
        f"event, and so on: then it can be read, too. {read_here}",
        line=line,
        instead=MAPPINGS,
    )
