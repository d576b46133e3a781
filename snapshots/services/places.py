"""Accept logs that are read from where they lie, here or on an object store, without a copy.

Only commands of the operator come here: nobody in a browser can make the server open a path.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from django.db import transaction

from snapshots.domain.model.defects import InputRefused
from snapshots.fields import clipped
from snapshots.limits import limits_of_place
from snapshots.models import Job, Recording
from snapshots.problems import Refused
from snapshots.readers import recognition
from snapshots.readers.formats.excerpt import with_excerpt
from snapshots.readers.formats.head import read_head
from snapshots.readers.logs import native_parquet, native_parts
from snapshots.readers.logs.mapped.clocked import ClockLinesReader
from snapshots.readers.logs.native import NativeReader
from snapshots.readers.logs.native_parquet import ParquetReader
from snapshots.services.jobs import create_job
from snapshots.store.objects.paths import is_here, path_of
from webapp.accounts import audit

_MOST_LOOKED_AT = 100  # files of a folder


@dataclass(frozen=True, slots=True)
class Place:
    """Where a log lies.

    Attributes:
        path: a file, or a folder whose files are parts of one log; also as ``s3://…``.
        header: a file with the header; empty if the log has its own.
        is_unlimited: whether it may hold more bytes than MAX_RECORDING_BYTES.
    """

    path: str
    header: str = ""
    is_unlimited: bool = False


def is_folder_of_parts(folder: Path) -> bool:
    """Tell whether the files of a folder are parts of one log, and not files of an engine.

    Logs of several processes are no parts: each has a header of its own, or a vector clock.
    """
    if any(path.suffix == ".parquet" for path in folder.iterdir()):
        return True
    if not native_parts.holds_only_parts(folder):
        return False
    return not (is_here(folder) and _are_of_processes(native_parts.parts(folder)))


def _are_of_processes(files: Sequence[Path]) -> bool:
    headers = set()
    with suppress(InputRefused):
        for path in files[:_MOST_LOOKED_AT]:
            head = read_head(path, limits_of_place(unlimited=True))
            if ClockLinesReader().recognises(head):
                return True
            if head.fields is not None and head.fields.get("kind") == "header":
                headers.add(head.first_line[1].strip())
    return len(headers) > 1


def accept_place(owner, place: Place, *, format: str = "", name: str = "") -> Job:
    """Queue a recording of a log that stays where it is. Raises: Refused, TooMany, OSError."""
    path = path_of(place.path)
    format = _checked(place, format)
    with transaction.atomic():
        recording = Recording.objects.create(
            owner=owner,
            name=name or clipped(path.name, 200),
            source_name=path.name,
            format=format,
            size=sum(part.stat().st_size for part in _files(path, format)),
            place=asdict(place),
            parameters={"recognised": f"Read from its place by manage.py, as {format}."},
        )
        audit.note(audit.UPLOADED, owner, recording.title, bytes=recording.size)
        return create_job(Job.Kind.INGEST, owner, by=owner, recording=recording)


def _checked(place: Place, format: str) -> str:
    """Check the header and the parts of a log, and return its format. Raises: Refused."""
    path, limits = path_of(place.path), limits_of_place(unlimited=place.is_unlimited)
    header = path_of(place.header) if place.header else None
    try:
        reader = recognition.sniff(path, limits, format or None).reader
        (NativeReader() if header else reader).header(header or path, limits)
        if reader.name == ParquetReader.name:
            native_parquet.row_groups(path, limits)
    except InputRefused as refused:
        shown = refused if path.is_dir() else with_excerpt(refused, path, limits)
        raise Refused.of(shown, path.name) from None
    return reader.name


def _files(path: Path, format: str) -> list[Path]:
    """Return the files that are read."""
    return (native_parquet if format == ParquetReader.name else native_parts).parts(path)
