"""Makes one log of several files: the logs that the processes of one system wrote, each its own.

Files belong together if all are logs with vector clocks, or all are of the native format and no
process has events in two of them. Other files beside a single log are left out.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import orjson

from snapshots.domain.model.defects import InputRefused, quoted, refuse
from snapshots.domain.model.listing import listed
from snapshots.domain.model.recording import KINDS
from snapshots.readers import foreign, recognition
from snapshots.readers.formats.head import read_head
from snapshots.readers.formats.limits import Limits
from snapshots.readers.formats.lines import chunks
from snapshots.readers.logs.mapped.clocked import ClockLinesReader
from snapshots.readers.logs.native import NativeReader
from snapshots.readers.logs.shiviz.logs import has_expressions
from snapshots.readers.logs.shiviz.reader import ShivizReader
from snapshots.readers.logs.vector_timestamps import (
    VectorTimestampsReader,
    as_lines,
    is_of_numbers,
)
from snapshots.readers.unknown import TEXT_LOG

_CLOCKED = (ShivizReader().name, ClockLinesReader.name, VectorTimestampsReader.name)
_EVENTS = "native events"  # lines of the native format without their header
_MOST_VECTORS = 100_000  # lines of a file with vector timestamps
_MOST_NAMED = 5  # files in a sentence


@dataclass(frozen=True)
class Joined:
    """One log, made of several files or found among them.

    Attributes:
        path: the log.
        reason: what it is made of, as a sentence.
        parts: the name of each file and the line of the log with which it begins, in their order.
    """

    path: Path
    reason: str
    parts: tuple[tuple[str, int], ...]

    def placed(self, refused: InputRefused) -> InputRefused:
        """Return a refusal whose first line is that of the file in which it stands."""
        first, *others = refused.defects
        if first.line is None:
            return refused
        name, begins = self.parts[bisect_right([line for _, line in self.parts], first.line) - 1]
        sentence = f"The file {quoted(name)} of the package: {first.sentence}"
        own = replace(first, line=max(1, first.line - begins + 1), sentence=sentence)
        return InputRefused([own, *others], refused.total, refused.members)


def joined(
    folder: Path, files: Sequence[str], target: Path, limits: Limits, *, is_mapped: bool = False
) -> Joined:
    """Make one log of the files of a folder.

    Args:
        files: the names below the folder.
        target: the file that is written, if several are joined.
        is_mapped: whether a mapping reads all of them, whatever they are.

    Raises: InputRefused if they do not belong together, with the way that does work.
    """
    names = sorted(name for name in files if _counts(folder / name))
    if not names:
        raise refuse("empty", "The files of the package are empty.")
    if is_mapped:
        return _written(folder, names, target, limits, "as lines of one log, by the mapping")
    vectors = _vectors(folder, names, limits)
    if vectors and foreign.named_in_folder(folder, names) is None:
        return _timestamps(vectors, target, folder, limits)
    kinds = {name: _kind(folder / name, limits) for name in names}
    logs = [name for name in names if kinds[name] is not None]
    found = {kinds[name] for name in logs}
    if len(logs) == len(names) and len(found) == 1 and found <= set(_CLOCKED):
        if whole := _whole(folder, names, limits):
            reason = f"{quoted(whole)}, which holds the lines of the other files."
            return Joined(folder / whole, reason, ((whole, 1),))
        return _written(folder, names, target, limits, "whose clocks belong together")
    is_native = found in ({NativeReader.name}, {NativeReader.name, _EVENTS})
    if is_native and len(logs) == len(names) and not _share_a_process(folder, names, limits):
        return _native(folder, names, target, limits)
    if len(logs) == 1 and foreign.named_in_folder(folder, names) is None:
        others = [quoted(name) for name in names if name not in logs]
        reason = f"The only log of the package. Left out, since no log: {listed(others, 3)}."
        return Joined(folder / logs[0], reason, ((logs[0], 1),))
    raise _refusal(folder, names, kinds, limits)


def _vectors(folder: Path, names: Sequence[str], limits: Limits) -> list[str]:
    """Return the files with the vector timestamps of a node each; none if fewer than two have any.

    A file beside them, such as the configuration of the nodes, is left out.
    """
    found = [name for name in names if is_of_numbers(read_head(folder / name, limits).start)]
    return found if len(found) > 1 else []


def _timestamps(names: Sequence[str], target: Path, folder: Path, limits: Limits) -> Joined:
    """Write the vector timestamps of all nodes as one log. Raises: InputRefused."""
    parts: dict[str, int] = {}
    with target.open("wb") as log:
        files = {name: list(islice(_lines(folder / name, limits), _MOST_VECTORS)) for name in names}
        for number, (name, line) in enumerate(as_lines(files), 1):
            parts.setdefault(name, number)
            log.write(line)
    shown = listed([quoted(name) for name in names], _MOST_NAMED)
    reason = f"The vector timestamps of {len(names):,} nodes: {shown}."
    return Joined(target, reason, tuple(parts.items()))


def _counts(path: Path) -> bool:
    return not path.name.startswith((".", "_")) and path.is_file() and path.stat().st_size > 0


def _kind(path: Path, limits: Limits) -> str | None:
    """Return the name of the reader of a file, _EVENTS, or None if it is no log."""
    head = read_head(path, limits)
    with suppress(InputRefused):
        return recognition.recognised(head).reader.name
    with suppress(InputRefused):
        fields = head.fields or {}
        if fields.get("kind") in KINDS and "process" in fields:
            return _EVENTS
    return None


def _lines(path: Path, limits: Limits) -> Iterator[bytes]:
    """Yield the lines of a file, unpacked and with their ends. Raises: InputRefused."""
    for chunk in chunks(path, limits):
        for line in chunk.data.removesuffix(b"\n").split(b"\n"):
            yield line + b"\n"


def _written(
    folder: Path, names: Sequence[str], target: Path, limits: Limits, why: str, header: bytes = b""
) -> Joined:
    """Write the lines of all files behind each other; a later file's own header becomes blank."""
    parts, number, size = [], 1, 0
    with target.open("wb") as log:
        if header:
            log.write(header)
            number += 1
        for place, name in enumerate(names):
            parts.append((name, number))
            for line in _lines(folder / name, limits):
                size += len(line)
                if size > limits.total_bytes:
                    raise refuse(
                        "too-large", f"The files hold more than {limits.total_bytes:,} bytes."
                    )
                is_first = number == parts[-1][1]
                begins = has_expressions(line) if place else False
                log.write(b"\n" if is_first and (begins or _is_header(line)) else line)
                number += 1
    shown = listed([quoted(name) for name in names], _MOST_NAMED)
    return Joined(target, f"One log of {shown}, {why}.", tuple(parts))


def _whole(folder: Path, names: Sequence[str], limits: Limits) -> str | None:
    """Return the file that holds all lines of the others, as tools that merge logs write it."""
    largest = max(names, key=lambda name: (folder / name).stat().st_size)
    lines = {hash(line.strip()) for line in _lines(folder / largest, limits)}
    for name in names:
        if name == largest:
            continue
        if any(hash(line.strip()) not in lines for line in _lines(folder / name, limits)):
            return None
    return largest


def _is_header(line: bytes) -> bool:
    return b'"header"' in line and _object(line).get("kind") == "header"


def _object(line: bytes) -> dict:
    with suppress(orjson.JSONDecodeError):
        value = orjson.loads(line)
        return value if type(value) is dict else {}
    return {}


def _share_a_process(folder: Path, names: Sequence[str], limits: Limits) -> bool:
    """Tell whether a process has events in two files, which are then two recordings."""
    owner: dict[object, str] = {}
    for name in names:
        for line in _lines(folder / name, limits):
            process = _object(line).get("process")
            if isinstance(process, str) and owner.setdefault(process, name) != name:
                return True
    return False


def _native(folder: Path, names: Sequence[str], target: Path, limits: Limits) -> Joined:
    """Write one native log: the headers together, then the events. Raises: InputRefused."""
    header: dict[str, object] = {}
    for name in names:
        own = _object(next(_lines(folder / name, limits), b""))
        if own.get("kind") == "header":
            header = _merged(header, own, name) if header else own
    line = orjson.dumps(header) + b"\n"
    return _written(folder, names, target, limits, "each the log of its processes", line)


def _merged(header: dict[str, object], own: Mapping[str, object], name: str) -> dict[str, object]:
    """Return two headers as one. Raises: InputRefused if they contradict each other."""
    for field in ("format", "version", "time_unit"):
        if header.get(field) != own.get(field):
            raise refuse(
                "header-invalid",
                f"The header of {quoted(name)} has another {field} than that of the files before "
                "it: one recording has one.",
                field=field,
            )
    merged = dict(own) | header
    for field in ("processes", "channels"):
        items: dict[str, dict] = {}
        for item in (*_items(header, field), *_items(own, field)):
            known = items.setdefault(str(item.get("id")), dict(item))
            for key, value in item.items():
                if known.setdefault(key, value) != value:
                    raise refuse(
                        "header-invalid",
                        f"The header of {quoted(name)} says something else of "
                        f"{quoted(item.get('id'))} than that of a file before it.",
                        field=f"{field}.{key}",
                    )
        merged[field] = list(items.values())
    return merged


def _items(header: Mapping[str, object], field: str) -> list[dict]:
    value = header.get(field)
    return [item for item in value if type(item) is dict] if isinstance(value, list) else []


def _refusal(
    folder: Path, names: Sequence[str], kinds: Mapping[str, str | None], limits: Limits
) -> InputRefused:
    """Return the refusal of files that are no single log, with the way that does work."""
    named = foreign.named_in_folder(folder, names)
    if named is not None:
        return refuse("unknown-format", named.sentence)
    if all(kind is not None and kind != _EVENTS for kind in kinds.values()) and all(
        _is_read_alone(folder / name, limits) for name in names
    ):
        return refuse(
            "unknown-format",
            f"The package holds {len(names):,} logs that do not belong together, "
            f"{quoted(names[0])} among them: each is a recording of its own. Upload each by "
            "itself.",
        )
    other = next((name for name in names if kinds[name] in (None, _EVENTS)), names[0])
    return refuse(
        "unknown-format",
        f"The package holds {len(names):,} files that no engine known here has written, and that "
        f"are not the logs of one recording: {quoted(other)} is {_what(folder / other, limits)}. "
        f"{TEXT_LOG}",
    )


def _is_read_alone(path: Path, limits: Limits) -> bool:
    with suppress(InputRefused):
        recognition.check_head(read_head(path, limits))
        return True
    return False


def _what(path: Path, limits: Limits) -> str:
    """Say what a file is, as the end of a sentence."""
    head = read_head(path, limits)
    named = foreign.named(head)
    if named is not None:
        return named.name
    if head.not_text is not None:
        return "not text, and of no format known here"
    return "a text of no format known here"
