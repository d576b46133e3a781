"""Adds to a refusal the line of the input of which it speaks."""

from pathlib import Path

from snapshots.domain.model.defects import InputRefused
from snapshots.readers.formats.head import read_head
from snapshots.readers.formats.limits import Limits
from snapshots.readers.formats.lines import chunks

LONGEST = 200  # characters


def with_excerpt(refused: InputRefused, path: Path, limits: Limits) -> InputRefused:
    """Return a refusal with the member ``excerpt``: the beginning of the first defect's line.

    The refusal stays as it is if it names no line, or if the input is no text.
    """
    line = refused.defects[0].line
    text = None if line is None else _text_of(path, limits, line)
    if text is None:
        return refused
    return InputRefused(refused.defects, refused.total, refused.members | {"excerpt": text})


def _text_of(path: Path, limits: Limits, wanted: int) -> str | None:
    """Return the beginning of a line; None if it cannot be read."""
    try:
        if read_head(path, limits).not_text is not None:
            return None
        for chunk in chunks(path, limits):
            lines = chunk.data.removesuffix(b"\n").split(b"\n")
            if wanted < chunk.first_line + len(lines):
                return _shortened(lines[wanted - chunk.first_line].decode(errors="replace"))
    except (InputRefused, OSError):
        return None
    return None


def _shortened(line: str) -> str:
    """Return what is shown of a line: one row of printable characters."""
    shown = "".join(char if char.isprintable() else "�" for char in line.strip()[: LONGEST + 1])
    return shown if len(shown) <= LONGEST else shown[:LONGEST] + "…"
