"""What a worker does with an upload before it is ingested: engines' files become a native log."""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from snapshots.domain.model.defects import InputRefused, quoted
from snapshots.files import recordings, uploads
from snapshots.limits import recording_limits
from snapshots.models import Recording
from snapshots.readers.engines import registry
from snapshots.readers.engines.base import EngineUpload
from snapshots.readers.logs.mapped.lines import format_of
from snapshots.readers.logs.mapped.mapping import parse
from snapshots.readers.logs.native import NativeReader, write_lines

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Source:
    """What is ingested. path: of a log; format: its reader's name, None: told from the content.

    upload: None where the log came as it is. shown_format: what the recording says it is of.
    inside: the log's name in its archive, None where it came by itself. reason: what was recognised
    and by what, where only unpacking tells.
    """

    path: Path
    format: str | None
    upload: EngineUpload | None = None
    shown_format: str | None = None
    inside: str | None = None
    reason: str | None = None


@contextlib.contextmanager
def opened(recording: Recording, name: str, progress: Progress) -> Iterator[Source]:
    """The recording's upload as a log. name: of the run, whose leftovers are swept.

    Raises: InputRefused, what ``progress`` raises, OSError.
    """
    path = uploads.path_of(recording.upload)
    if "mapping" in (recording.parameters or {}):
        mapping = parse(recording.parameters["mapping"])
        yield Source(path, format_of(mapping), shown_format=recording.format)
        return
    if recording.format not in registry.FORMATS:
        yield Source(path, recording.format or None)
        return
    scratch = recordings.store().temporary(name)
    source = None
    try:
        source = _understood(path, recording, scratch, progress)
        yield source
    except InputRefused as refused:
        if source is None or source.inside is None:
            raise
        raise _naming(refused, source.inside) from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _understood(path: Path, recording: Recording, scratch: Path, progress: Progress) -> Source:
    from tasks.spark.engine_state.reading import with_state

    progress("unpacking", 0, 0)
    folder, limits = scratch / "files", recording_limits()
    files = registry.unpacked(path, recording.source_name, folder, limits).files
    found = registry.recognise(folder, files, recording.format)
    if found.reader is None:
        inside = found.log.relative_to(folder).as_posix()
        return Source(found.log, None, inside=inside, reason=found.reason)
    progress("reading checkpoints", 0, 0)
    upload = with_state(found.reader.read(folder))
    derived = scratch / "derived.jsonl"
    with derived.open("wb") as log:
        for line in write_lines(*upload.recording()):
            log.write(line)
    return Source(derived, NativeReader.name, upload, found.reader.name, reason=found.reason)


def _naming(refused: InputRefused, name: str) -> InputRefused:
    """The same refusal; its first sentence names the file."""
    first, *others = refused.defects
    sentence = f"The file {quoted(name)} of the archive: {first.sentence}"
    return InputRefused(
        [replace(first, sentence=sentence), *others], refused.total, refused.members
    )
