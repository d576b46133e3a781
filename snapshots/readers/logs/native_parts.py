"""Parts of a native text: the files of a folder are one recording, in the order of their names.

The header is the first line of the first part, or a file beside the parts. A part may begin with
the same line again, as its writer may not know the others. Lines are counted through all parts.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from snapshots.domain.model.defects import refuse
from snapshots.readers.formats.limits import Limits
from snapshots.readers.formats.lines import CHUNK_BYTES, Chunk, chunks, first_line

ENDINGS = tuple(
    f"{text}{packed}" for text in (".jsonl", ".ndjson") for packed in ("", ".gz", ".zst")
)


def parts(source: Path) -> list[Path]:
    """Return the file itself, or a folder's parts by name. Raises: InputRefused."""
    if not source.is_dir():
        return [source]
    files = sorted(path for path in source.iterdir() if is_part(path))
    if not files:
        raise refuse("empty", f"The folder holds no file that ends in {', '.join(ENDINGS)}.")
    return files


def is_part(path: Path) -> bool:
    """Tell whether a file is a part that holds anything; some writers leave empty ones."""
    return path.name.endswith(ENDINGS) and path.is_file() and path.stat().st_size > 0


def holds_only_parts(folder: Path) -> bool:
    """Tell whether all files of a folder are parts, but for those that writers leave beside."""
    paths = [path for path in folder.iterdir() if not path.name.startswith((".", "_"))]
    return bool(paths) and all(path.name.endswith(ENDINGS) for path in paths)


def event_chunks(
    paths: Iterable[Path], header: bytes, limits: Limits, size: int = CHUNK_BYTES
) -> Iterator[tuple[Path, Chunk]]:
    """Yield the lines behind the headers, each chunk with its part.

    Args:
        paths: the parts in order; each is opened when its turn comes.
        header: the text of the header's line.

    Raises: InputRefused, as ``chunks`` does, and ``too-large`` for all parts together.
    """
    lines = read = 0
    for path in paths:
        skipped = _header_line(path, header, limits)
        end = 0
        for chunk in chunks(path, limits, size):
            read += len(chunk.data)
            if read > limits.total_bytes:
                raise _too_large(limits)
            end = chunk.first_line - 1 + _line_count(chunk.data)
            events = _after(chunk, skipped)
            if events.data:
                yield path, replace(events, first_line=lines + events.first_line)
        lines += end


def header_text(source: Sequence[Path] | Path, limits: Limits) -> bytes:
    """Return the text of the first line that is not blank, in the first of several files."""
    path = source if isinstance(source, Path) else source[0]
    return first_line(path, limits)[1]


def _header_line(path: Path, header: bytes, limits: Limits) -> int:
    """Return the number of the line with the header; 0 if the part begins with an event."""
    line, text = first_line(path, limits)
    return line if text.strip() == header.strip() else 0


def _after(chunk: Chunk, line: int) -> Chunk:
    """Return the lines of a chunk that stand behind a line."""
    skipped, first = 0, chunk.first_line
    while first <= line and skipped < len(chunk.data):
        skipped = chunk.data.find(b"\n", skipped) + 1 or len(chunk.data)
        first += 1
    return Chunk(chunk.offset + skipped, first, chunk.data[skipped:])


def _line_count(data: bytes) -> int:
    return data.count(b"\n") + (not data.endswith(b"\n"))


def _too_large(limits: Limits) -> Exception:
    return refuse(
        "too-large",
        f"The parts hold more than {limits.total_bytes:,} bytes after decompression, the most that "
        "is read here. An operator can ingest them with --no-limits.",
    )
