"""The transactions of a two-phase-commit sink, and the store outside that they write to.

Source: Flink, TwoPhaseCommitSinkFunction. A transaction is open, pre-committed with a checkpoint,
and committed once word has come that this or a later checkpoint is complete.
"""

from dataclasses import dataclass, field

from snapshots.domain.simulators.dataflows.functions import Record

OPEN, PRECOMMITTED, COMMITTED, ABORTED, LOST = (
    "open",
    "pre-committed",
    "committed",
    "aborted",
    "lost",
)


@dataclass(slots=True)
class Transaction:
    id: str
    began_at: int
    status: str = OPEN
    records: list[Record] = field(default_factory=list)


@dataclass
class Transactions:
    """Of one subtask. ``all`` is the store outside: it outlives every failure of the task.

    pending: what its state holds: (transaction, number of the checkpoint it belongs to).
    """

    task: str
    timeout: int | None = None
    all: dict[str, Transaction] = field(default_factory=dict)
    open: Transaction | None = None
    pending: list[tuple[str, int]] = field(default_factory=list)

    def begin(self, now: int) -> str:
        self.open = Transaction(f"{self.task}-t{len(self.all) + 1}", now)
        self.all[self.open.id] = self.open
        return self.open.id

    def write(self, record: Record) -> str:
        self.open.records.append(record)
        return self.open.id

    def precommit(self, cid: int) -> str | None:
        """The open one now belongs to the checkpoint; None where none is open."""
        if self.open is None:
            return None
        self.open.status = PRECOMMITTED
        self.pending.append((self.open.id, cid))
        done, self.open = self.open.id, None
        return done

    def commit(self, cid: int, now: int) -> list[tuple[str, str]]:
        """Word that the checkpoint is complete: what became of each transaction up to it."""
        due = [tx for tx, of in self.pending if of <= cid]
        self.pending = [(tx, of) for tx, of in self.pending if of > cid]
        return [(tx, self._commit(self.all[tx], now)) for tx in due]

    def recover(
        self, pending: list[tuple[str, int]], now: int
    ) -> tuple[list[tuple[str, str]], list[str]]:
        """After a restore with these in its state: what became of them, and which are aborted."""
        named = {tx for tx, _ in pending}
        committed = [(tx, self._commit(self.all[tx], now)) for tx, _ in pending]
        aborted = []
        for tx in self.all.values():
            if tx.id not in named and tx.status in (OPEN, PRECOMMITTED):
                tx.status = ABORTED
                aborted.append(tx.id)
        self.pending, self.open = [], None
        return committed, aborted

    def committed(self) -> list[Record]:
        """What a reader of committed data sees, in the order of the transactions."""
        done = (tx for tx in self.all.values() if tx.status == COMMITTED)
        return [record for tx in done for record in tx.records]

    def _commit(self, tx: Transaction, now: int) -> str:
        """Commits again, without effect, what has been committed."""
        if tx.status == PRECOMMITTED:
            expired = self.timeout is not None and now - tx.began_at > self.timeout
            tx.status = LOST if expired else COMMITTED
        return tx.status
