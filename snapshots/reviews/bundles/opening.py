"""Open a bundle that somebody uploads. Nothing in it is trusted before it has been checked."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from snapshots.domain.model.defects import InputRefused, quoted
from snapshots.files import uploads
from snapshots.problems import Refused
from snapshots.readers.formats.unpacking import zip as zip_entries
from snapshots.readers.formats.unpacking.tar import Entry
from snapshots.reviews.bundles import documents
from snapshots.reviews.bundles.documents import MANIFEST, MOST_BYTES, NOTES, UPLOAD

_NAME_AT = 30  # where the first member's name begins in a zip
_MEMBERS = (MANIFEST, NOTES, UPLOAD)


@dataclass(frozen=True)
class Bundle:
    """A bundle that has been checked.

    Attributes:
        recording: what its manifest says of the recording.
        entries: the notes.
        upload: the file that was uploaded to the other Cutline.
    """

    recording: documents.Described
    entries: tuple[documents.Note, ...]
    upload: uploads.DraftUpload


def is_bundle(file: uploads.DraftUpload) -> bool:
    """Return whether a file begins as a bundle does."""
    with uploads.flushed_path(file).open("rb") as source:
        start = source.read(_NAME_AT + len(MANIFEST))
    return zip_entries.is_zip(start) and start[_NAME_AT:] == MANIFEST.encode()


def opened(file: uploads.DraftUpload, upload: uploads.Draft) -> Bundle:
    """Check a bundle, and write the upload that it holds into a draft.

    Raises: Refused with the part and the reason, TooLarge, OSError.
    """
    with uploads.flushed_path(file).open("rb") as source:
        try:
            members = zip_entries.entries(source, len(_MEMBERS) + 1)
            return _checked(members, file.size, upload)
        except InputRefused as refused:
            raise Refused.of(refused, file.name) from None


def _checked(members: Iterator[Entry], size: int, upload: uploads.Draft) -> Bundle:
    manifest = documents.read_manifest(b"".join(_bounded(_next(members, MANIFEST), MANIFEST)))
    notes_part, upload_part = manifest.parts
    if notes_part.bytes + upload_part.bytes > size:
        raise Refused(
            f"{MANIFEST} lists parts of {notes_part.bytes + upload_part.bytes:,} bytes, but the "
            f"whole file has {size:,}. Its parts are not compressed.",
            code="too-large",
            field="parts",
        )
    content = bytearray()
    _take(_bounded(_next(members, NOTES), NOTES), notes_part, content.extend)
    notes = documents.read_notes(bytes(content))
    _take(_next(members, UPLOAD), upload_part, upload.write)
    if (further := next(members, None)) is not None:
        raise _unexpected(further.name)
    upload.flush()
    name = manifest.recording.source_name or manifest.recording.name
    return Bundle(manifest.recording, notes.entries, uploads.DraftUpload(upload, name, ""))


def _next(members: Iterator[Entry], name: str) -> Iterator[bytes]:
    """Return the blocks of the next member, which has to have this name. Raises: Refused."""
    member = next(members, None)
    if member is None:
        raise Refused(f"The recording with its notes has no part {name}.", code="truncated")
    if member.name != name or member.folder:
        raise _unexpected(member.name)
    return iter(member.blocks)


def _unexpected(name: str) -> Refused:
    return Refused(
        f"A recording with its notes holds {', '.join(_MEMBERS)}, in this order, and nothing else; "
        f"this one holds {quoted(name)}.",
        code="unsafe-archive",
    )


def _bounded(blocks: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Yield the blocks of a part that is read into memory. Raises: Refused if it is too large."""
    size = 0
    for block in blocks:
        size += len(block)
        if size > MOST_BYTES[name]:
            raise Refused(
                f"{name} has more than {MOST_BYTES[name]:,} bytes, the most that is read.",
                code="too-large",
            )
        yield block


def _take(blocks: Iterator[bytes], part: documents.Part, write: Callable[[bytes], object]) -> None:
    """Write a part, and compare its length and its hash with the manifest. Raises: Refused."""
    digest, size = hashlib.sha256(), 0
    for block in blocks:
        size += len(block)
        if size > part.bytes:
            break
        digest.update(block)
        write(block)
    if size != part.bytes:
        more = "more than" if size > part.bytes else "fewer than"
        raise Refused(
            f"{part.name} has {more} the {part.bytes:,} bytes that {MANIFEST} lists. Was the file "
            "changed after it was written?",
            field="bytes",
        )
    if digest.hexdigest() != part.sha256:
        raise Refused(
            f"{part.name} has the SHA-256 {digest.hexdigest()}, but {MANIFEST} lists "
            f"{part.sha256}. Was the file changed after it was written?",
            field="sha256",
        )
