"""Incremental files, which checkpoint needs which, and what became of requests for checkpoints.

A file is needed while a checkpoint that names it is kept, or is under way. Source: Flink's shared
state registry. ``simulators.protocols.flink_files`` says what is uploaded.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from snapshots.domain.dataflow_logs.checkpoints.tasks import handles
from snapshots.domain.dataflow_logs.events import ProtocolEvent, whole
from snapshots.domain.dataflow_logs.kinds import (
    CP_ABORT,
    CP_ACK,
    CP_COMPLETE,
    CP_DECISION,
    CP_REQUEST,
)
from snapshots.domain.model.topology import ProcessId


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """What an acknowledgement, a completion or the end of a checkpoint says of files.

    Attributes:
        files: the name and bytes of each file, and the checkpoint that uploaded it.
        retained: the checkpoints that are kept from a completion on.
    """

    checkpoint: str
    step: int
    at: int
    process: ProcessId
    kind: str
    files: tuple[tuple[str, int, str | None], ...] = ()
    retained: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileReport:
    """A file of an incremental checkpoint, and the checkpoints that need it.

    Attributes:
        file: the name of the file.
        process: the task that uploaded the file.
        bytes: the size of the file.
        since: the checkpoint that uploaded the file. None if the log does not say.
        named_by: the checkpoints that hold the file.
        needed_by: the checkpoints among ``named_by`` that are kept, or under way, when the log
            ends.
        free_at: when the last checkpoint that needed the file was gone. None if one still needs it.
    """

    file: str
    process: ProcessId
    bytes: int
    since: str | None
    named_by: tuple[str, ...]
    needed_by: tuple[str, ...]
    free_at: int | None

    def to_json(self) -> dict[str, object]:
        """Return the fields as JSON values."""
        lists = {"named_by": list(self.named_by), "needed_by": list(self.needed_by)}
        return asdict(self) | lists


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of a request for a checkpoint.

    Attributes:
        at: when it was decided, in the time unit of the recording.
        reason: why the checkpoint was requested. None if the log does not say.
        checkpoint: the checkpoint that was triggered. None if none was.
        dropped: why the request was dropped. None if it was not.
        waits: whether the request waits until fewer checkpoints are under way.
    """

    at: int
    reason: str | None
    checkpoint: str | None
    dropped: str | None
    waits: bool

    def to_json(self) -> dict[str, object]:
        """Return the fields as JSON values."""
        return asdict(self)


def acknowledged(name: str, events: Iterable[ProtocolEvent]) -> list[Acknowledged]:
    """Return what the events of one checkpoint, in order, say of files."""
    return [
        Acknowledged(
            checkpoint=name,
            step=event.step,
            at=event.at,
            process=event.process,
            kind=event.kind,
            files=tuple(_handle(item) for item in handles(event) or ()),
            retained=_retained(event),
        )
        for event in events
        if event.kind in (CP_ACK, CP_COMPLETE, CP_ABORT)
    ]


def _handle(item: dict[str, Any]) -> tuple[str, int, str | None]:
    since = item.get("since_cid")
    return item["file"], item["bytes"], None if since is None else str(since)


def _retained(event: ProtocolEvent) -> tuple[str, ...]:
    named = event.fields.get("retained")
    items = named if isinstance(named, list) else ()
    return tuple(str(item) for item in items if isinstance(item, str) or whole(item) is not None)


def files_of(items: Iterable[Acknowledged]) -> tuple[FileReport, ...]:
    """Return all files by name. ``items`` may be in any order."""
    ledger = _Ledger()
    for item in sorted(items, key=lambda item: item.step):
        ledger.take(item)
    return tuple(ledger.reports())


class _Ledger:
    """Files and the checkpoints that name them, as far as the log has been read.

    ``over``: checkpoints that have completed or were given up.
    """

    def __init__(self) -> None:
        self.file_reports: dict[str, FileReport] = {}
        self.files_by_checkpoint: dict[str, set[str]] = {}
        self.under_way: set[str] = set()
        self.over: set[str] = set()
        self.retained: tuple[str, ...] = ()

    def take(self, item: Acknowledged) -> None:
        if item.kind == CP_ACK:
            self._name(item)
            return
        before = self._kept()
        self.under_way.discard(item.checkpoint)
        self.over.add(item.checkpoint)
        if item.kind == CP_COMPLETE:
            self.retained = item.retained
        for gone in before - self._kept() | {item.checkpoint}:
            self._free(gone, item.at)

    def _kept(self) -> set[str]:
        return self.under_way | set(self.retained)

    def _name(self, item: Acknowledged) -> None:
        if item.checkpoint not in self.over:
            self.under_way.add(item.checkpoint)
        for file, size, since in item.files:
            fresh = FileReport(file, item.process, size, since, (), (), None)
            report = self.file_reports.setdefault(file, fresh)
            if item.checkpoint not in report.named_by:
                named_by = (*report.named_by, item.checkpoint)
                self.file_reports[file] = replace(report, named_by=named_by, free_at=None)
                self.files_by_checkpoint.setdefault(item.checkpoint, set()).add(file)
        if item.checkpoint in self.over:
            self._free(item.checkpoint, item.at)

    def _free(self, checkpoint: str, at: int) -> None:
        """Set ``free_at`` of the checkpoint's files that no kept checkpoint names."""
        kept = self._kept()
        for file in self.files_by_checkpoint.get(checkpoint, ()):
            report = self.file_reports[file]
            if report.free_at is None and not kept & set(report.named_by):
                self.file_reports[file] = replace(report, free_at=at)

    def reports(self) -> Iterable[FileReport]:
        kept = self._kept()
        for _, report in sorted(self.file_reports.items()):
            yield replace(report, needed_by=tuple(n for n in report.named_by if n in kept))


def decisions_of(events: Iterable[ProtocolEvent]) -> tuple[Decision, ...]:
    """Return what became of each request.

    A decision answers the last request at its coordinator.
    """
    requests: dict[ProcessId, ProtocolEvent] = {}
    decisions = []
    for event in events:
        if event.kind == CP_REQUEST:
            requests[event.process] = event
        elif event.kind == CP_DECISION:
            request = requests.pop(event.process, None)
            decisions.append(
                Decision(
                    at=event.at,
                    reason=request and request.text("reason"),
                    checkpoint=event.snapshot,
                    dropped=event.text("dropped"),
                    waits=event.is_so("waits"),
                )
            )
    return tuple(decisions)
