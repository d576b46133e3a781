"""What listings tell of SeaTunnel's checkpoints, by the names and sizes of their files alone.

A checkpoint of a pipeline is one file, which the engine renames when it is complete. A restore
takes the file with the latest time in its name.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from snapshots.domain.inventory.model import (
    COMPLETED,
    UNKNOWN_ID,
    CheckpointInventory,
    Fact,
    JobInventory,
)
from snapshots.domain.inventory.restore_check import AS_LISTED, LISTED, Findings, NeededFile
from snapshots.domain.model.derived import NOT_TOLD, WHY_UNKNOWN
from snapshots.readers.engines.seatunnel.names import FileName, file_name
from snapshots.readers.engines.told import Told, ToldUpload
from snapshots.readers.formats.listings import Listing, join

LISTING = "listing of a folder"
_EMPTY = "The listing gives it 0 bytes, and no checkpoint of SeaTunnel's is empty."
_WHOLE = (
    f"{AS_LISTED}, it is there ({{:,}} bytes): a checkpoint of a pipeline is one file. Its content "
    "is not known."
)
_TAKEN = "A restore takes the file with the latest time in its name, as the listing has them."
_PART = " The listing may lack files, so that a later one may be there."
_FAILS = "A restore takes the file with the latest time in its name, {}, which is empty, and fails."

Files = list[tuple[str, FileName, int]]  # path, name and bytes


def names_seatunnel(paths: Iterable[str]) -> bool:
    """Tell whether a listing names files of checkpoints, with the time in their names."""
    return any((name := file_name(path)) is not None and name.written_at for path in paths)


def listed_upload(listings: tuple[Listing, ...], sizes: dict[str, int]) -> ToldUpload:
    """Return what listings tell of checkpoints, without pipelines whose files are all uploaded.

    Args:
        sizes: the sizes of all files of the upload.
    """
    uploaded = {path.rpartition("/")[2] for path in sizes}
    pipelines: dict[tuple[str, int], Files] = defaultdict(list)
    unfinished = 0
    for path, size in join(listings).items():
        name = file_name(path)
        if name is None or name.written_at is None:
            continue
        if name.unfinished:
            unfinished += 1
            continue
        pipelines[str(name.job or ""), name.pipeline].append((path, name, size))
    for key, files in list(pipelines.items()):
        if all(path.rpartition("/")[2] in uploaded for path, _, _ in files):
            del pipelines[key]
    is_whole = all(listing.is_whole for listing in listings)
    keys = {job: f"{LISTED}{job or 'a job'}" for job, _ in sorted(pipelines)}
    notes = [listing.sentence() for listing in listings]
    if unfinished:
        notes.append(
            f"{unfinished:,} files ending in .sertmp are listed: writing them was interrupted, and "
            "no restore takes them."
        )
    return ToldUpload(
        "seatunnel",
        tuple(JobInventory(key, facts=() if job else (UNKNOWN_ID,)) for job, key in keys.items()),
        tuple(
            told
            for (job, pipeline), files in sorted(pipelines.items())
            for told in _pipeline(keys[job], pipeline, files, is_whole=is_whole)
        ),
        {listing.path: LISTING for listing in listings},
        sizes,
        tuple(notes),
    )


def _pipeline(job: str, pipeline: int, files: Files, *, is_whole: bool) -> Iterator[Told]:
    files.sort(key=lambda file: (file[1].written_at or 0, file[1].checkpoint))
    last = files[-1][0]
    for path, name, size in files:
        findings = Findings()
        problem = None if size else _EMPTY
        findings.need(NeededFile(path, "checkpoint", None, None, size, problem))
        facts = [Fact("pipeline", pipeline)]
        if size:
            findings.doubt(_WHOLE.format(size))
        if path == last:
            taken = _TAKEN if is_whole else f"{_TAKEN}{_PART}"
            value, by = ("from this one", taken) if size else ("fails", _FAILS.format(path))
            facts.append(Fact("next restore", value, by))
        item = CheckpointInventory(
            job=job,
            id=name.checkpoint,
            kind="checkpoint",
            status=COMPLETED,
            path=path,
            completed_at=name.written_at,
            bytes=size,
            facts=tuple(facts),
            snapshot=f"{name.checkpoint} (listed {job.removeprefix(LISTED)}, pipeline {pipeline})",
            why_unknown=WHY_UNKNOWN[NOT_TOLD],
        )
        yield Told(item, findings, path == last)
