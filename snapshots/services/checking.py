"""Compare rows with files, both ways: find what is missing, damaged or unknown, and advise."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.conf import settings

from snapshots.files import aside, identity, kept, recordings, resumable, uploads
from snapshots.files.folders import STORED
from snapshots.growing.errors import JournalDamaged
from snapshots.growing.journal import Journal
from snapshots.jobs import sweeping
from snapshots.models import Recording
from snapshots.store.errors import StoreError
from snapshots.store.inventory.reading import StoredInventory
from snapshots.store.locations import TEMPORARY
from snapshots.store.objects.paths import is_here
from snapshots.store.reader import StoredRecording

WIDTH = 800  # pixels of the overview that is read


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence about rows and files with advice; ``is_wrong`` if something is lost or unknown."""

    sentence: str
    advice: str
    is_wrong: bool = True


@dataclass(slots=True)
class Sizes:
    """The number of some files, and their bytes."""

    count: int = 0
    size: int = 0

    def add(self, path: Path) -> None:
        self.count += 1
        self.size += aside.size_of(path)


class Check:
    """One comparison of all rows and files; ``sizes`` is complete when ``findings`` has ended."""

    def __init__(self) -> None:
        self.known_since = identity.known_since()
        self.aside = sweeping.all_aside()
        kinds = ("uploads", "stored recordings", "set aside", "unknown")
        self.sizes = {kind: Sizes() for kind in kinds}

    def findings(self) -> Iterator[Finding]:
        for recording in Recording.objects.order_by("pk").iterator():
            yield from _settled(recording, self._of_row(recording))
        yield from self._uploads()
        yield from self._far_uploads()
        yield from self._stores()
        for entry in self.aside:
            self.sizes["set aside"].add(entry.path)

    def _of_row(self, recording: Recording) -> Iterator[Finding]:
        yield from self._upload_of(recording)
        yield from self._journal_of(recording)
        if recording.store:
            yield from self._store_of(recording)
        elif recording.is_ready:
            yield Finding(f"{_named(recording)} is ready and has no store.", _again(recording))

    def _upload_of(self, recording: Recording) -> Iterator[Finding]:
        if not recording.upload:
            return
        path = kept.path_of(recording.upload)
        if not path.exists():
            sentence = f"The upload of {_named(recording)} is missing: {recording.upload}."
            yield Finding(sentence, self._way_back(recording.upload, recording))
            return
        self.sizes["uploads"].add(path)
        size = path.stat().st_size
        if recording.size and size != recording.size:
            sentence = (
                f"The upload of {_named(recording)} has {size:,} bytes and had {recording.size:,}."
            )
            yield Finding(sentence, f"Take uploads/{recording.upload} from a backup.")

    def _journal_of(self, recording: Recording) -> Iterator[Finding]:
        if not recording.journal:
            return
        path = uploads.path_of(recording.journal)
        try:
            Journal(path).close()
            self.sizes["uploads"].add(path)
        except FileNotFoundError:
            if not is_here(kept.root()):
                sentence = f"The journal of {_named(recording)} is not on this machine."
                advice = "It is on the machine that opened the recording: check it there."
                yield Finding(sentence, advice, is_wrong=False)
                return
            sentence = f"The journal of {_named(recording)} is missing: {recording.journal}."
            yield Finding(sentence, self._way_back(recording.journal, recording))
        except JournalDamaged as damaged:
            sentence = f"What has come to {_named(recording)} cannot be read: {damaged}"
            yield Finding(sentence, f"Take uploads/{recording.journal} from a backup.")

    def _store_of(self, recording: Recording) -> Iterator[Finding]:
        folder = recordings.store().root / recording.store
        if not folder.exists():
            sentence = f"The store of {_named(recording)} is missing: {recording.store}."
            yield Finding(sentence, self._way_back(recording.store, recording))
            return
        self.sizes["stored recordings"].add(folder)
        fault = fault_of(folder)
        if fault is not None:
            sentence = f"The store of {_named(recording)} cannot be read: {fault}"
            yield Finding(sentence, _again(recording))

    def _way_back(self, name: str, recording: Recording) -> str:
        for entry in self.aside:
            if entry.was == name:
                return f"It is set aside: python manage.py set_aside --bring-back {entry.name}"
        if name == recording.store:
            return _again(recording)
        if name == recording.journal:
            return "Take it from a backup, or delete this recording."
        return "Take it from a backup, or upload the file again and delete this recording."

    def _uploads(self) -> Iterator[Finding]:
        named, _ = recordings.named()
        for path in sorted(Path(settings.UPLOADS_DIR).iterdir()):
            if path.name in named or resumable.is_known(path.name.removeprefix(uploads.UNFINISHED)):
                continue
            if uploads.is_being_written(path) or not path.exists():
                continue
            if path.name.startswith(uploads.UNFINISHED):
                yield _unfinished("The upload", path)
            elif is_here(kept.root()):
                yield self._unknown("The upload", path)
            else:
                yield _copy_of_none(path)

    def _far_uploads(self) -> Iterator[Finding]:
        """Find what the object store keeps for no recording; unfinished uploads are left out."""
        if is_here(kept.root()):
            return
        named, _ = recordings.named()
        set_aside = {entry.path for entry in self.aside}
        for path in sorted(kept.root().iterdir()):
            if path.name in {*named, aside.FOLDER, kept.PIECES} or path in set_aside:
                continue
            if not resumable.is_known(path.name) and path.exists():
                yield self._unknown("The upload", path)

    def _stores(self) -> Iterator[Finding]:
        root, (_, named) = recordings.store().root, recordings.named()
        set_aside = {entry.path for entry in self.aside}  # on an object store it is where it was
        for path in sorted(root.iterdir()) if root.is_dir() else ():
            if (
                path.name in named
                or path in set_aside
                or not STORED.fullmatch(path.name)
                or sweeping.is_being_written(path.name)
            ):
                continue
            if TEMPORARY in path.name:
                yield _unfinished("The folder", path)
            elif path.exists() and not Recording.objects.filter(store=path.name).exists():
                yield self._unknown("The stored recording", path)

    def _unknown(self, kind: str, path: Path) -> Finding:
        self.sizes["unknown"].add(path)
        if not identity.is_older(path, self.known_since):
            return Finding(
                f"{kind} {path.name} belongs to no recording.",
                f"A worker's sweep sets it aside for {settings.SET_ASIDE_DAYS} days.",
            )
        return Finding(
            f"{kind} {path.name} belongs to no recording, and is older than what the database "
            f"knows (since {_moment(self.known_since)}): no sweep touches it.",
            f"python manage.py set_aside --take {path.name}, and then --bring-back or --remove.",
        )


def fault_of(folder: Path) -> str | None:
    """Read what every page of a recording needs; return the fault, or None if there is none."""
    try:
        stored = StoredRecording.open(folder)
        stored.defects()
        for summary in stored.snapshots()[:1]:
            stored.snapshot(summary["snapshot"])
        extent = stored.manifest.extent
        stored.window(extent.from_, extent.to, WIDTH, "time")
        inventory = StoredInventory(folder)
        for number in range(len(inventory.upload["checkpoints"]) if inventory.exists else 0):
            inventory.checkpoint(number)
    except (StoreError, OSError, ValueError, KeyError) as fault:
        return str(fault)
    return None


def _settled(recording: Recording, findings: Iterator[Finding]) -> list[Finding]:
    """Leave out findings that exist only because the recording changed during the check."""
    listed = list(findings)
    files = {name: getattr(recording, name) for name in ("upload", "journal", "store")}
    same = Recording.objects.filter(pk=recording.pk, **files)
    return listed if listed and same.exists() else []


def _unfinished(kind: str, path: Path) -> Finding:
    sentence = f"{kind} {path.name} was left unfinished by a process that died."
    return Finding(sentence, "A worker's sweep removes it.", is_wrong=False)


def _copy_of_none(path: Path) -> Finding:
    sentence = f"The upload {path.name} lies on this machine and belongs to no recording."
    return Finding(sentence, "A sweep of this machine removes it.", is_wrong=False)


def _named(recording: Recording) -> str:
    return f"recording {recording.pk} “{recording.name}”"


def _again(recording: Recording) -> str:
    if recording.upload and kept.path_of(recording.upload).exists():
        return f"Its upload is kept: python manage.py ingest_again {recording.pk}"
    return "Its upload is missing too: take it from a backup, or delete this recording."


def _moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
