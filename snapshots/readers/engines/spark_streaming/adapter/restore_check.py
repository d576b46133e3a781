"""Whether all the files are there that a query reads when it starts again after a batch.

A query starts again from the newest offset file. If that batch is committed, its state is the
version after it; else the batch runs again from the state before it. So only the newest batch
decides about a checkpoint directory. An older batch counts if everything newer is taken away.

Source: Spark's MicroBatchExecution.populateStartOffsets, ContinuousExecution.getStartOffsets,
FileStreamSourceLog.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice

from snapshots.domain.inventory.model import FileUse
from snapshots.domain.inventory.restore_check import (
    Findings,
    RestoreCheck,
    UnneededFile,
    UploadCheck,
    check_upload,
    conclude,
)
from snapshots.readers.engines.spark_streaming.adapter.jobs import SparkJob
from snapshots.readers.engines.spark_streaming.adapter.needed_files import NeededFiles
from snapshots.readers.engines.spark_streaming.adapter.pipelines import replaced
from snapshots.readers.engines.spark_streaming.adapter.restore_state import NeededState
from snapshots.readers.engines.spark_streaming.adapter.sizes import StateSizes
from snapshots.readers.engines.spark_streaming.documents import Json
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.logs.offsets import (
    FILE,
    LONG,
    PlannedBatch,
    kind_of,
)
from snapshots.readers.engines.spark_streaming.timeline import Batch, positions_back

QUERY, OFFSETS, COMMITS = "query id", "offset log", "commit log"
SOURCE = "source log"
NO_QUERY = (
    "It is absent. Spark 4.3 does not start without it; versions up to 4.1 make a new query of it."
)
NO_OFFSETS = "It is absent, so that nothing tells how far the sources were read."
NO_OFFSETS_BEFORE = "It is absent, and Spark reads it to know where the batch begins."
IN_A_GAP = (
    "It is absent, and so is the commit of its batch, as asynchronous progress tracking leaves it. "
    "With that option a restart goes on; without it Spark looks for this file and fails."
)
NO_COMMIT = "It is absent: the batch ended, and what it left for the next one is not known."
NO_COMMIT_BEFORE = (
    "It is absent although a later batch was planned. Spark goes on with a warning; whether the "
    "batch was complete is not known."
)
NO_EPOCH = "No epoch is committed: a start reads the source from where a new query begins."
NO_SOURCE_LOG = "It is absent, and the source does not start without it."
RATE = "RateStream"  # how reports describe the source
NO_RATE_LOG = (
    "It is absent, and it holds the instant of the source's start. Spark begins to count anew "
    "without it, finds that the offsets go back, and fails."
)
MAYBE_RATE = (
    "It is absent. A source `rate` does not go on without it; a source of another kind, which "
    "counts like it, may need none."
)
NO_USER = "No start after a batch that is still there reads it."
_SOURCE_FILE = re.compile(r"(\d{1,18})(\.compact)?")
_MOST_LACKING = 100  # files of a source's log that are named
MOST_LOOKED_UP = 5_000_000  # files of state and of sources' logs, counted for every batch
TOO_MANY = (
    f"It is not checked: before the newest batch at most {MOST_LOOKED_UP:,} files of a query are "
    "looked up, for newer batches first."
)


def restore_check(
    jobs: tuple[SparkJob, ...],
    states: Mapping[str, StateSizes],
    files: tuple[FileUse, ...],
    limits: SparkLimits,
) -> UploadCheck:
    """Check all batches of an upload.

    Args:
        states: the stored state of each checkpoint, by its folder.
        files: what each file of the upload is, and who needs it.
    """
    checks: list[RestoreCheck] = []
    older = replaced(job.folder for job in jobs)
    for job in jobs:
        query = _Query(job, states[job.folder], limits)
        last = len(job.batches) - 1
        counts = job.folder not in older
        newest_first = [
            query.check(place, decides=counts and place == last) for place in range(last, -1, -1)
        ]
        checks += reversed(newest_first)
    return check_upload("spark", checks, list(_unneeded(files)))


def _unneeded(files: tuple[FileUse, ...]) -> Iterator[UnneededFile]:
    for file in files:
        if file.role.startswith("state") and not file.checkpoints:
            yield UnneededFile(file.path, file.bytes, file.reason or NO_USER)


class _Query:
    """The checkpoint directory of one query."""

    def __init__(self, job: SparkJob, state: StateSizes, limits: SparkLimits) -> None:
        self._job = job
        damaged = (*job.checkpoint.damaged, *state.damaged)
        self._needed = NeededFiles(job, damaged, limits, MOST_LOOKED_UP)
        self._state = NeededState(self._needed, state)
        self._source_names: dict[str, dict[int, str]] = {}

    def check(self, place: int, *, decides: bool) -> RestoreCheck:
        """Answer for a start after one batch."""
        batch = self._job.batches[place]
        findings = Findings()
        if decides or self._needed.left > 0:
            self._needed.need(findings, "metadata", QUERY, absent=NO_QUERY)
            version = self._logs(findings, batch)
            self._sources(findings, batch)
            self._state.note(findings, version)
        else:
            findings.doubt(TOO_MANY)
        log = "offsets" if batch.planned else "commits"
        return conclude(
            findings,
            number=self._job.first + place,
            job=self._job.key,
            id=batch.batch,
            kind="epoch" if self._job.is_continuous else "batch",
            path=self._job.path(f"{log}/{batch.batch}"),
            decides=decides,
        )

    def _logs(self, findings: Findings, batch: Batch) -> int:
        """Note the files of the logs, and return the version of state that the start needs."""
        number, logs = batch.batch, self._job.checkpoint.logs
        for path in (f"commits/{number}", f"offsets/{number + 1}", f"commits/{number + 1}"):
            self._needed.write(findings, path)
        if self._job.is_continuous and number in self._job.in_flight:
            self._newest_epoch(findings, logs.last_committed)
            return number
        self._needed.need(findings, f"offsets/{number}", OFFSETS, absent=NO_OFFSETS)
        if number and not self._job.is_continuous:
            is_gap = number - 1 in self._job.gaps
            absent = IN_A_GAP if is_gap else NO_OFFSETS_BEFORE
            before = f"offsets/{number - 1}"
            self._needed.need(findings, before, OFFSETS, absent=absent, is_certain=not is_gap)
            self._same_sources(findings, number)
        if number in logs.committed:
            self._needed.need(findings, f"commits/{number}", COMMITS, absent="")
            return number + 1
        if number not in self._job.in_flight:
            self._needed.need(
                findings, f"commits/{number}", COMMITS, absent=NO_COMMIT, is_certain=False
            )
            return number + 1
        if number:
            has_ids = self._job.checkpoint.state_format > 1
            self._needed.need(
                findings,
                f"commits/{number - 1}",
                COMMITS,
                absent=NO_COMMIT_BEFORE,
                is_certain=has_ids,
            )
        return number

    def _newest_epoch(self, findings: Findings, epoch: int | None) -> None:
        """Note the files of the newest committed epoch, with which a start begins."""
        if epoch is None:
            findings.doubt(NO_EPOCH)
            return
        self._needed.need(findings, f"commits/{epoch}", COMMITS, absent="")
        self._needed.need(findings, f"offsets/{epoch}", OFFSETS, absent=NO_OFFSETS)

    def _same_sources(self, findings: Findings, number: int) -> None:
        """Compare an offset file with the one before: neither sources nor offsets go back."""
        planned = self._job.checkpoint.logs.planned
        before, after = planned.get(number - 1), planned.get(number)
        if not isinstance(before, PlannedBatch) or not isinstance(after, PlannedBatch):
            return
        path = self._job.path(f"offsets/{number}")
        if lost := before.offsets.keys() - after.offsets.keys():
            findings.doubt(f"{path}: The batch before read {len(lost):,} more sources.")
        for source, end in after.offsets.items():
            start = before.offsets.get(source)
            if kind_of(start) != kind_of(end):
                continue
            for name, first, last in islice(positions_back(start, end), _MOST_LACKING):
                place = f"Source {source}{f' ({name})' if name else ''}"
                findings.doubt(f"{path}: {place} goes back from {first:,} to {last:,}.")

    def _sources(self, findings: Findings, batch: Batch) -> None:
        planned = self._job.checkpoint.logs.planned.get(batch.batch)
        if not isinstance(planned, PlannedBatch):
            return
        is_newest = batch is self._job.batches[-1]
        for source, offset in planned.offsets.items():
            names = self._source_files(source)
            self._needed.left -= len(names)
            if (end := _log_offset(offset)) is None:
                self._notes_of_source(findings, source, offset, names)
            else:
                newest = max(end, *names) if names and is_newest else end
                self._log_of_files(findings, source, range(_compacted(names, end), newest + 1))

    def _notes_of_source(
        self, findings: Findings, source: str, offset: Json, names: Mapping[int, str]
    ) -> None:
        """Note what a source that reads no files has kept, whose form is its own."""
        if not names and kind_of(offset) == LONG and offset:
            sources = self._job.checkpoint.topology.sources
            known = next((one.description for one in sources if one.id == source), None)
            if known is None or known.startswith(RATE):
                said = NO_RATE_LOG if known else MAYBE_RATE
                path = f"sources/{source}/0"
                user = f"source {source}"
                is_certain = known is not None
                self._needed.need(findings, path, SOURCE, user, absent=said, is_certain=is_certain)
        for _, name in sorted(names.items()):
            path = f"sources/{source}/{name}"
            self._needed.need(findings, path, SOURCE, f"source {source}", absent="")

    def _log_of_files(self, findings: Findings, source: str, numbers: range) -> None:
        """Note the files of the log of a file source; of many that are absent the first ones."""
        names = self._source_files(source)
        for number in numbers[: len(names) + _MOST_LACKING]:
            path = f"sources/{source}/{names.get(number, number)}"
            self._needed.need(findings, path, SOURCE, f"source {source}", absent=NO_SOURCE_LOG)

    def _source_files(self, source: str) -> dict[int, str]:
        """Return the names in the log of a source by number, of two that of the compacted file."""
        if source in self._source_names:
            return self._source_names[source]
        names = self._source_names[source] = {}
        for name in sorted(self._needed.files.children(f"sources/{source}")):
            if match := _SOURCE_FILE.fullmatch(name):
                names[int(match[1])] = name
        return names


def _compacted(names: Mapping[int, str], end: int) -> int:
    """Return the number of the newest compacted file up to ``end``; 0 if there is none."""
    compacted = (number for number, name in names.items() if name.endswith(".compact"))
    return max((number for number in compacted if number <= end), default=0)


def _log_offset(offset: Json) -> int | None:
    """Return the number in the offset of a file source; None for other sources."""
    end = offset.get("logOffset") if isinstance(offset, dict) and kind_of(offset) == FILE else None
    return end if type(end) is int else None
