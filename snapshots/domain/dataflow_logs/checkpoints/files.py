"""Incremental files, and which checkpoint needs which; and what became of requests.

A file is needed as long as a checkpoint that names it is kept, or is under way. Source: Flink's
shared state registry; see also algorithms/flink_files.py, which says what is uploaded.
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

    files: (name, bytes, the checkpoint that uploaded it) of each. retained: of a completion, what
    is kept from then on.
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
    """since: the checkpoint that uploaded it. named_by: those that hold it. needed_by: those of
    them that are kept, or under way, when the log ends. free_at: since when none needs it."""

    file: str
    process: ProcessId
    bytes: int
    since: str | None
    named_by: tuple[str, ...]
    needed_by: tuple[str, ...]
    free_at: int | None

    def to_json(self) -> dict[str, object]:
        """Return the fields as JSON values."""
        return asdict(self) | {
            "named_by": list(self.named_by),
            "needed_by": list(self.needed_by),
        }


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of a request. dropped: why nothing did; waits: until fewer are under way."""

    at: int
    reason: str | None
    checkpoint: str | None
    dropped: str | None
    waits: bool

    def to_json(self) -> dict[str, object]:
        """Return the fields as JSON values."""
        return asdict(self)


def acknowledged(name: str, events: Iterable[ProtocolEvent]) -> list[Acknowledged]:
    """events: of one checkpoint, in order."""
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


def files_of(told: Iterable[Acknowledged]) -> tuple[FileReport, ...]:
    """By name. told: of all checkpoints, in any order."""
    ledger = _Ledger()
    for item in sorted(told, key=lambda item: item.step):
        ledger.take(item)
    return tuple(ledger.reports())


class _Ledger:
    """kept: checkpoints that are retained, or under way. free_at: of a file that none of them
    names, since when."""

    def __init__(self) -> None:
        self.known: dict[str, FileReport] = {}
        self.names: dict[str, set[str]] = {}
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
            known = self.known.setdefault(file, fresh)
            if item.checkpoint not in known.named_by:
                named = (*known.named_by, item.checkpoint)
                self.known[file] = replace(known, named_by=named, free_at=None)
                self.names.setdefault(item.checkpoint, set()).add(file)
        if item.checkpoint in self.over:
            self._free(item.checkpoint, item.at)

    def _free(self, checkpoint: str, at: int) -> None:
        kept = self._kept()
        for file in self.names.get(checkpoint, ()):
            known = self.known[file]
            if known.free_at is None and not kept & set(known.named_by):
                self.known[file] = replace(known, free_at=at)

    def reports(self) -> Iterable[FileReport]:
        kept = self._kept()
        for _, known in sorted(self.known.items()):
            yield replace(known, needed_by=tuple(n for n in known.named_by if n in kept))


def decisions_of(events: Iterable[ProtocolEvent]) -> tuple[Decision, ...]:
    """A decision answers the last request at its coordinator. events: in order."""
    asked: dict[ProcessId, ProtocolEvent] = {}
    found = []
    for event in events:
        if event.kind == CP_REQUEST:
            asked[event.process] = event
        elif event.kind == CP_DECISION:
            request = asked.pop(event.process, None)
            found.append(
                Decision(
                    at=event.at,
                    reason=request and request.text("reason"),
                    checkpoint=event.snapshot,
                    dropped=event.text("dropped"),
                    waits=event.is_so("waits"),
                )
            )
    return tuple(found)
