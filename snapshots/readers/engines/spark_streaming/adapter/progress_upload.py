"""An upload of progress reports alone: what they say of each batch, without a checkpoint.

A report is written when its batch has ended, so a batch with one is completed. Offsets, state and
whether a restart goes on are in the checkpoint directory, which is not there.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.inventory.entries import StateEntry
from snapshots.domain.inventory.model import (
    COMPLETED,
    COUNT,
    CheckpointInventory,
    Fact,
    FileUse,
    JobInventory,
    UploadInventory,
)
from snapshots.domain.inventory.restore_check import (
    Findings,
    UploadCheck,
    check_upload,
    conclude,
)
from snapshots.domain.model.defects import refuse
from snapshots.domain.model.derived import NOT_TOLD, WHY_UNKNOWN
from snapshots.domain.model.recording import (
    INTERNAL,
    RECORD_STATE,
    Instant,
    LoggedEvent,
    SnapshotId,
)
from snapshots.domain.model.topology import Process, ProcessId, Topology
from snapshots.readers.engines import derived_log
from snapshots.readers.engines.base import EngineUpload
from snapshots.readers.engines.spark_streaming.files import DamagedFile, Files, list_files
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.progress import (
    Progress,
    facts_of,
    looks_like_progress,
    read_reports,
)

MOST_BATCHES = 20_000
MOST_FILES_TRIED = 1_000
ONLY_REPORTS = "The upload has progress reports of Spark and no checkpoint directory."
_WHY_NO_CHECK = "The checkpoint directory is not in the upload."
_LONGEST = 1_000  # characters of an exception


@dataclass(frozen=True)
class Query:
    """One query.

    Attributes:
        reports: the reports of its batches, by number; of several the last.
        exception: what ended it. None if the upload does not say.
        is_ended: whether an event log says that it ended.
        idle: how many reports behind the last batch say that none was run.
    """

    key: str
    name: str | None
    reports: tuple[Progress, ...]
    exception: str | None
    is_ended: bool
    idle: int

    def snapshot(self, batch: int, queries: int) -> SnapshotId:
        """Name the snapshot of a batch."""
        return SnapshotId(f"{batch} ({self.key[:40]})" if queries > 1 else str(batch))


@dataclass
class ProgressUpload(EngineUpload):
    """The reports of an upload. Raises: InputRefused where no file holds one."""

    root: Path
    limits: SparkLimits = field(default_factory=SparkLimits)

    def __post_init__(self) -> None:
        self.files: Files = list_files(self.root, self.limits.files)
        self.roles: dict[str, str] = {}
        self.damaged: list[DamagedFile] = []
        self._read()
        if not any(query.reports for query in self.queries):
            raise refuse("unknown-format", self._why_nothing())

    def _read(self) -> None:
        reports: list[Progress] = []
        ended: dict[str, str | None] = {}
        for path in sorted(self.files.entries)[:MOST_FILES_TRIED]:
            if not looks_like_progress(self.files, path):
                continue
            self.roles[path] = "progress"
            found = read_reports(self.files, path, self.limits)
            reports += found.reports
            self.damaged += found.damaged
            ended.update((one.query or "", one.exception) for one in found.ended)
        by_query: dict[str, dict[int, Progress]] = {}
        names: dict[str, str] = {}
        idle: dict[str, int] = {}
        for report in reports:
            idle[report.query or ""] = idle.get(report.query or "", 0) + 1 if report.idle else 0
            batches, key = by_query.setdefault(report.query or "", {}), report.query or ""
            if not report.idle or report.batch not in batches:
                batches[report.batch] = report
            if report.name:
                names[key] = report.name
        self.hidden = max(0, sum(map(len, by_query.values())) - MOST_BATCHES)
        most = MOST_BATCHES // max(1, len(by_query))
        self.queries = [
            Query(
                key,
                names.get(key),
                tuple(batches[number] for number in sorted(batches)[-max(1, most) :]),
                ended.get(key),
                key in ended,
                idle.get(key, 0),
            )
            for key, batches in by_query.items()
        ]

    def _why_nothing(self) -> str:
        if self.damaged:
            first = self.damaged[0]
            return f"{first.file} holds no whole progress report of Spark. {first.what}"
        return (
            "The event log of Spark holds no progress report: no streaming query ended a batch "
            "in it."
        )

    @cached_property
    def _numbered(self) -> list[tuple[int, Query, Progress]]:
        pairs = [(query, report) for query in self.queries for report in query.reports]
        return [(number, *pair) for number, pair in enumerate(pairs)]

    def inventory(self) -> UploadInventory:
        files = tuple(
            FileUse(
                path,
                entry.size,
                self.roles.get(path, "unknown"),
                reason=None if path in self.roles else "It holds no progress report of Spark.",
            )
            for path, entry in self.files.entries.items()
        )
        notes = [ONLY_REPORTS]
        notes += [str(one) for one in self.damaged[:20]]
        if self.hidden:
            notes.append(f"The {self.hidden:,} earliest batches are left out.")
        return UploadInventory(
            "spark",
            tuple(map(_job, self.queries)),
            tuple(self._checkpoint(*item) for item in self._numbered),
            files,
            tuple(notes),
        )

    def _checkpoint(self, number: int, query: Query, report: Progress) -> CheckpointInventory:
        return CheckpointInventory(
            job=query.key,
            id=report.batch,
            kind="batch",
            status=COMPLETED,
            triggered_at=report.triggered_at_ms,
            completed_at=report.finished_at_ms,
            facts=tuple(facts_of(report)),
            problem=ONLY_REPORTS,
            snapshot=query.snapshot(report.batch, len(self.queries)),
            why_unknown=WHY_UNKNOWN[NOT_TOLD],
            why_state_unknown=_WHY_NO_CHECK,
            phases=report.durations_ms,
        )

    def restore_check(self) -> UploadCheck:
        checks = []
        for number, query, report in self._numbered:
            findings = Findings()
            findings.doubt(_WHY_NO_CHECK)
            checks.append(
                conclude(
                    findings,
                    number=number,
                    job=query.key,
                    id=report.batch,
                    kind="batch",
                    path=None,
                    decides=False,
                )
            )
        return check_upload("spark", checks, [], [ONLY_REPORTS])

    def entries(self) -> Iterator[StateEntry]:
        return iter(())

    def recording(self) -> tuple[Header, Iterator[LoggedEvent]]:
        several = len(self.queries) > 1
        drivers = {
            id(query): ProcessId(f"query {number}" if several else "query")
            for number, query in enumerate(self.queries, 1)
        }
        began = [r.triggered_at_ms for _, _, r in self._numbered if r.triggered_at_ms is not None]
        origin = min(began, default=None)
        scopes = [Process(name, scope=name if several else None) for name in drivers.values()]
        about = {"why_unknown": NOT_TOLD, "notes": [ONLY_REPORTS], "epoch": origin}
        name = next((query.name for query in self.queries if query.name), "progress reports")
        header = derived_log.header("spark", name, Topology(tuple(scopes), ()), about)
        return header, derived_log.numbered(self._events(drivers, origin))

    def _events(self, drivers: dict[int, ProcessId], origin: int | None) -> Iterator[LoggedEvent]:
        now: dict[ProcessId, Instant | None] = {}
        for _, query, report in self._numbered:
            process = drivers[id(query)]
            at = derived_log.instant(report.triggered_at_ms, origin)
            before = now.get(process)
            inferred = [] if at is not None else [derived_log.TIME]
            if before is not None and (at is None or at < before):
                at, inferred = before, [derived_log.TIME]
            now[process] = at
            about = {"batch": report.batch, "rows": report.rows}
            yield derived_log.event(process, INTERNAL, at, about, inferred, label="batch ended")
            yield derived_log.event(
                process,
                RECORD_STATE,
                at,
                {"batch": report.batch},
                inferred,
                snapshot=query.snapshot(report.batch, len(self.queries)),
            )


def _job(query: Query) -> JobInventory:
    facts = [Fact("from", "progress reports")]
    if query.idle:
        facts.append(Fact("reports without a batch at the end", query.idle, unit=COUNT))
    if query.is_ended:
        facts.append(Fact("ended", "failed" if query.exception else "stopped"))
    if query.exception:
        facts.append(Fact("exception", query.exception[:_LONGEST]))
    return JobInventory(query.key, query.name, tuple(facts))
