"""What logs and listings tell of checkpoints whose own files are not read, as an upload of its own.

Such an upload stands alone, or beside the files that an engine's reader reads.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from snapshots.domain.answering.job_report import JobReport
from snapshots.domain.archive.model import JobFacts
from snapshots.domain.assembling.assembly import Header
from snapshots.domain.inventory.entries import ChannelBytes, StateEntry
from snapshots.domain.inventory.model import (
    CheckpointInventory,
    FileUse,
    JobInventory,
    UploadInventory,
)
from snapshots.domain.inventory.restore_check import (
    Findings,
    RestoreCheck,
    UploadCheck,
    check_upload,
    conclude,
)
from snapshots.domain.model.defects import InputRefused, refuse
from snapshots.domain.model.derived import NOT_TOLD
from snapshots.domain.model.recording import RECORD_STATE, Instant, LoggedEvent, SnapshotId
from snapshots.domain.model.topology import Process, ProcessId, Topology
from snapshots.readers.engines import derived_log
from snapshots.readers.engines.base import EngineUpload, ReportsJobs, TellsTimes


@dataclass(frozen=True)
class Told:
    """A checkpoint of which something tells.

    Attributes:
        item: what is told, whose name in the recording is unique.
        findings: what is found of the files that it needs.
        decides: whether it counts for the answer about the whole upload.
    """

    item: CheckpointInventory
    findings: Findings
    decides: bool = False


@dataclass
class ToldUpload(EngineUpload):
    """Jobs and checkpoints that logs or listings tell of.

    Attributes:
        engine: the engine's word in the inventory.
        checkpoints: the checkpoints by job.
        roles: what each file of the upload that tells of them is, by path.
        sizes: the sizes of all files of the upload.
        notes: how far the files were read, as sentences.
        reports: what logs say of the jobs.
    """

    engine: str
    jobs: tuple[JobInventory, ...]
    checkpoints: tuple[Told, ...]
    roles: dict[str, str]
    sizes: dict[str, int]
    notes: tuple[str, ...] = ()
    reports: tuple[JobReport, ...] = ()

    def inventory(self) -> UploadInventory:
        none = "It tells nothing of a checkpoint."
        files = tuple(
            FileUse(
                path,
                size,
                self.roles.get(path, "unknown"),
                reason=None if path in self.roles else none,
            )
            for path, size in sorted(self.sizes.items())
        )
        items = tuple(told.item for told in self.checkpoints)
        return UploadInventory(self.engine, self.jobs, items, files, self.notes)

    def restore_check(self) -> UploadCheck:
        return check_upload(self.engine, self.checks(0), [], self.notes)

    def checks(self, first: int) -> list[RestoreCheck]:
        """Return the answer for each checkpoint; ``first`` is the number of the first one."""
        return [
            conclude(
                told.findings,
                number=number,
                job=told.item.job,
                id=told.item.id,
                kind=told.item.kind,
                path=told.item.path,
                decides=told.decides,
            )
            for number, told in enumerate(self.checkpoints, first)
        ]

    def entries(self) -> Iterator[StateEntry]:
        return iter(())

    def recording(self) -> tuple[Header, Iterator[LoggedEvent]]:
        times = [at for told in self.checkpoints if (at := _time(told.item)) is not None]
        origin = min(times, default=None)
        topology = Topology(tuple(self.processes()), ())
        about = {"why_unknown": NOT_TOLD, "notes": list(self.notes[:5]), "epoch": origin}
        name = next((job.name for job in self.jobs if job.name), self.engine)
        header = derived_log.header(self.engine, name, topology, about)
        return header, derived_log.numbered(self.events(origin))

    def processes(self) -> Iterator[Process]:
        """Yield a process for each job."""
        for name in self._names.values():
            yield Process(name)

    @property
    def _names(self) -> dict[str, ProcessId]:
        """Return the process of each job by its key, numbered where there are several."""
        word = "told" if len(self.jobs) == 1 else "told {}"
        return {job.key: ProcessId(word.format(n)) for n, job in enumerate(self.jobs, 1)}

    def events(self, origin: int | None) -> Iterator[LoggedEvent]:
        """Yield when each checkpoint ended; without an origin in epoch ms no time is told."""
        names, now = self._names, dict[ProcessId, Instant | None]()
        for told in self.checkpoints:
            process = names[told.item.job or ""]
            at, before = derived_log.instant(_time(told.item), origin), now.get(process)
            inferred = [] if at is not None else [derived_log.TIME]
            if before is not None and (at is None or at < before):
                at, inferred = before, [derived_log.TIME]
            now[process] = at
            snapshot = SnapshotId(told.item.snapshot or str(told.item.id))
            about = {"status": told.item.status}
            yield derived_log.event(process, RECORD_STATE, at, about, inferred, snapshot=snapshot)

    def job_reports(self) -> tuple[JobReport, ...]:
        return self.reports

    @property
    def tells_nothing(self) -> bool:
        """Tell whether no file tells of any job."""
        return not self.jobs

    def refusal(self) -> InputRefused:
        """Return the refusal of files that tell of no job."""
        said = self.notes[0] if self.notes else ""
        return refuse("unknown-format", f"No line of it tells of a job. {said}".rstrip())

    def and_told(self, other: "ToldUpload") -> "ToldUpload":
        """Return what both tell."""
        return ToldUpload(
            self.engine,
            self.jobs + other.jobs,
            self.checkpoints + other.checkpoints,
            self.roles | other.roles,
            self.sizes,
            self.notes + other.notes,
            self.reports + other.reports,
        )


def _time(item: CheckpointInventory) -> int | None:
    return item.completed_at if item.completed_at is not None else item.triggered_at


@dataclass
class Beside(EngineUpload):
    """The files of an engine, and beside them what logs or listings tell."""

    files: EngineUpload
    told: ToldUpload

    def inventory(self) -> UploadInventory:
        own, told = self.files.inventory(), self.told.inventory()
        roles = self.told.roles
        files = tuple(
            replace(file, role=roles[file.path], reason=None) if file.path in roles else file
            for file in own.files
        )
        return replace(
            own,
            jobs=own.jobs + told.jobs,
            checkpoints=own.checkpoints + told.checkpoints,
            files=files,
            notes=own.notes + told.notes,
        )

    def restore_check(self) -> UploadCheck:
        own = self.files.restore_check()
        count = len(self.files.inventory().checkpoints)
        checks = list(own.checks)
        checks[count:count] = self.told.checks(count)
        return check_upload(own.engine, checks, own.unneeded, (*own.notes, *self.told.notes))

    def entries(self) -> Iterator[StateEntry]:
        return self.files.entries()

    def channel_bytes(self) -> Iterator[ChannelBytes]:
        return self.files.channel_bytes()

    def recording(self) -> tuple[Header, Iterator[LoggedEvent]]:
        header, events = self.files.recording()
        own = header.topology
        topology = Topology((*own.processes, *self.told.processes()), own.channels)

        def both() -> Iterator[LoggedEvent]:
            yield from events
            yield from self.told.events(None)

        return replace(header, topology=topology), derived_log.numbered(both())

    def archive_facts(self) -> tuple[JobFacts, ...]:
        return self.files.archive_facts() if isinstance(self.files, TellsTimes) else ()

    def job_reports(self) -> tuple[JobReport, ...]:
        own = self.files.job_reports() if isinstance(self.files, ReportsJobs) else ()
        return (*own, *self.told.reports)
