"""What sinks do with their transactions, with the events of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from snapshots.domain.dataflow_logs.kinds import (
    TX_ABORT,
    TX_BEGIN,
    TX_COMMIT,
    TX_PRECOMMIT,
    TX_RECOVER_COMMIT,
    TX_TIMEOUT,
)
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.dataflows.tasks import EventLog, Task
from snapshots.domain.simulators.dataflows.transactions import LOST


@dataclass(eq=False)
class Committing:
    """Begins, pre-commits, commits and recovers transactions; tasks without any are left alone."""

    log: EventLog

    def begin(self, task: Task[Any]) -> None:
        """Open the task's next transaction."""
        if task.tx is not None:
            self.log.add(task.id, TX_BEGIN, {"tx": task.tx.begin(self.log.now)})

    def precommit(self, task: Task[Any], cid: int) -> str | None:
        """Hand the open transaction to the checkpoint; return None if none is open."""
        tx = None if task.tx is None else task.tx.precommit(cid)
        if tx is not None:
            self.log.add(task.id, TX_PRECOMMIT, {"tx": tx}, snapshot=str(cid))
        return tx

    def commit(self, writer: Task[Any], cid: int, committer: ProcessId | None = None) -> None:
        """Commit what the writer has pre-committed up to this checkpoint.

        Args:
            committer: the process that commits; None is the writer itself.
        """
        if writer.tx is not None:
            for tx, status in writer.tx.commit(cid, self.log.now):
                self._log(committer or writer.id, tx, status, TX_COMMIT, cid)

    def recover(
        self,
        writer: Task[Any],
        pending: Iterable[tuple[str, int]],
        cid: int | None,
        committer: ProcessId | None = None,
    ) -> None:
        """Commit once more what the restored state lists, and abort all else.

        Args:
            pending: the listed transactions, each with the checkpoint it was pre-committed for.
            cid: the checkpoint that is restored, which completed them; None lists none.
            committer: the process that commits; None is the writer itself.
        """
        if writer.tx is None:
            return
        committed, aborted = writer.tx.recover(list(pending), self.log.now)
        for tx, status in committed:
            self._log(committer or writer.id, tx, status, TX_RECOVER_COMMIT, cid)
        for tx in aborted:
            self.log.add(writer.id, TX_ABORT, {"tx": tx})

    def _log(self, process: ProcessId, tx: str, status: str, kind: str, cid: int | None) -> None:
        if status == LOST:
            self.log.add(process, TX_TIMEOUT, {"tx": tx})
        else:
            assert cid is not None  # only a checkpoint lists transactions to commit
            self.log.add(process, kind, {"tx": tx}, snapshot=str(cid))
