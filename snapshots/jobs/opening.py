"""Open an upload in a worker before it is ingested: engines' files become a native log."""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from snapshots.domain.model.defects import InputRefused, quoted
from snapshots.files import recordings, uploads
from snapshots.jobs.at_work import AtWork
from snapshots.limits import limits_of_place, recording_limits
from snapshots.models import WHOLE_STATE, Recording
from snapshots.readers.engines import registry
from snapshots.readers.engines.base import EngineUpload
from snapshots.readers.formats.excerpt import with_excerpt
from snapshots.readers.formats.head import read_head
from snapshots.readers.formats.limits import Limits
from snapshots.readers.logs.mapped.lines import format_of
from snapshots.readers.logs.mapped.mapping import parse
from snapshots.readers.logs.native import NativeReader, write_lines
from snapshots.readers.together import Joined, joined
from snapshots.store.objects.paths import path_of

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Source:
    """The log to ingest, and where it came from.

    Args:
        path: the log's file.
        format: name of its reader; None to recognise it from the content.
        upload: the engine's upload; None if the log came as it is.
        shown_format: the format that the recording names.
        inside: the log's name in its package; None if it came by itself.
        joined: the files of a package that are one log; None for any other.
        reason: what was recognised and how, if only unpacking shows it.
        header_file: a file with the header, if the log has none.
        limits: how much the log may hold.
    """

    path: Path
    format: str | None
    upload: EngineUpload | None = None
    shown_format: str | None = None
    inside: str | None = None
    joined: Joined | None = None
    reason: str | None = None
    header_file: Path | None = None
    limits: Limits = field(default_factory=recording_limits)


@contextlib.contextmanager
def opened(recording: Recording, name: str, progress: Progress) -> Iterator[Source]:
    """Open the recording's upload as a log; ``name`` names the run, whose leftovers are swept.

    Raises: InputRefused, what ``progress`` raises, OSError.
    """
    if recording.place is not None:
        yield _at_its_place(recording.place, recording.format)
        return
    path = uploads.at_hand(recording.upload)
    mapped = (recording.parameters or {}).get("mapping")
    mapping = None if mapped is None else format_of(parse(mapped))
    is_package = mapping is None or registry.is_package(read_head(path, recording_limits()))
    if mapping is not None and not is_package:
        with _showing_the_line(path):
            yield Source(path, mapping, shown_format=recording.format)
        return
    if mapping is None and recording.format not in registry.FORMATS:
        with _showing_the_line(path):
            yield Source(path, recording.format or None)
        return
    scratch = _scratch(name)
    source = None
    try:
        source = _understood(path, recording, scratch, progress, mapping)
        yield source
    except InputRefused as refused:
        if source is None or (source.inside is None and source.joined is None):
            raise
        shown = with_excerpt(refused, source.path, recording_limits())
        if source.joined is not None:
            raise source.joined.placed(shown) from None
        assert source.inside is not None  # else it was raised above
        raise _naming(shown, source.inside) from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _scratch(name: str) -> Path:
    """Make a folder of this machine in which a package is unpacked.

    It is beside the store, where the executors of a cluster find it. With an object store, tasks
    are handed what they read.
    """
    store = recordings.store()
    if store.is_here:
        return store.temporary(name)
    folder = recordings.unpacking_folder() / name
    folder.mkdir(parents=True)
    return folder


def _at_its_place(place: dict[str, Any], format: str) -> Source:
    """Return a log that is read from where it lies; ``place`` is one of services/places.py."""
    header = path_of(place["header"]) if place["header"] else None
    limits = limits_of_place(unlimited=place["is_unlimited"])
    return Source(path_of(place["path"]), format, header_file=header, limits=limits)


@contextlib.contextmanager
def _showing_the_line(log: Path) -> Iterator[None]:
    """Add to a refusal from the block the line of the log of which it speaks."""
    try:
        yield
    except InputRefused as refused:
        raise with_excerpt(refused, log, recording_limits()) from None


def _understood(
    path: Path, recording: Recording, scratch: Path, progress: Progress, mapping: str | None
) -> Source:
    """Unpack an upload and return its log; ``mapping`` is the format of all its files, if any."""
    from tasks.spark.engine_state.reading import with_state

    progress("unpacking", 0, 0)
    folder, limits = scratch / "files", recording_limits()
    watch = partial(AtWork(progress, "unpacking"), "file")
    files = registry.unpacked(path, recording.source_name, folder, limits, watch).files
    if mapping is not None:
        one = joined(folder, files, scratch / "joined", limits, is_mapped=True)
        return Source(one.path, mapping, shown_format=recording.format, joined=one)
    recognised = registry.recognise(folder, files, recording.format)
    if recognised.reader is None:
        if recognised.log is None:
            one = joined(folder, files, scratch / "joined", limits)
            return Source(one.path, None, joined=one, reason=one.reason)
        inside = recognised.log.relative_to(folder).as_posix()
        return Source(recognised.log, None, inside=inside, reason=recognised.reason)
    progress("reading checkpoints", 0, 0)
    is_whole = bool((recording.parameters or {}).get(WHOLE_STATE))
    upload = with_state(recognised.reader.read(folder), is_whole=is_whole)
    derived = scratch / "derived.jsonl"
    with derived.open("wb") as log:
        for line in write_lines(*upload.recording()):
            log.write(line)
    return Source(
        derived, NativeReader.name, upload, recognised.reader.name, reason=recognised.reason
    )


def _naming(refused: InputRefused, name: str) -> InputRefused:
    """Return the same refusal with the file's name in its first sentence."""
    first, *others = refused.defects
    sentence = f"The file {quoted(name)} of the package: {first.sentence}"
    return InputRefused(
        [replace(first, sentence=sentence), *others], refused.total, refused.members
    )
