"""The transactions of a two-phase-commit sink, and the store outside that they write to.

Source: Flink, TwoPhaseCommitSinkFunction. A transaction is open, pre-committed with a checkpoint,
and committed when the task learns that this or a later checkpoint is complete.
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
    """One transaction, with the records written in it."""

    id: str
    began_at: int
    status: str = OPEN
    records: list[Record] = field(default_factory=list)


@dataclass
class Transactions:
    """One subtask's transactions.

    ``all`` models the external store and survives failures; ``pending`` is part of the task's
    state and lists (transaction, number of the checkpoint it belongs to). ``begun`` numbers the
    transactions on.
    """

    task: str
    timeout: int | None = None
    begun: int = 0
    all: dict[str, Transaction] = field(default_factory=dict)
    open: Transaction | None = None
    pending: list[tuple[str, int]] = field(default_factory=list)

    def begin(self, now: int) -> str:
        """Open the next transaction, and return its id."""
        self.begun += 1
        self.open = Transaction(f"{self.task}-t{self.begun}", now)
        self.all[self.open.id] = self.open
        return self.open.id

    def write(self, record: Record) -> str:
        """Write into the open transaction, and return its id."""
        assert self.open is not None  # a running sink has one until its final checkpoint
        self.open.records.append(record)
        return self.open.id

    def precommit(self, cid: int) -> str | None:
        """Hand the open transaction to the checkpoint; return its id, None if none is open."""
        if self.open is None:
            return None
        self.open.status = PRECOMMITTED
        self.pending.append((self.open.id, cid))
        done, self.open = self.open.id, None
        return done

    def commit(self, cid: int, now: int) -> list[tuple[str, str]]:
        """Commit all up to a complete checkpoint; return each transaction with its status."""
        due = [tx for tx, owner in self.pending if owner <= cid]
        self.pending = [(tx, owner) for tx, owner in self.pending if owner > cid]
        return [(tx, self._commit(self.all[tx], now)) for tx in due]

    def recover(
        self, pending: list[tuple[str, int]], now: int
    ) -> tuple[list[tuple[str, str]], list[str]]:
        """Settle all transactions after a restore.

        Args:
            pending: the transactions that the restored state lists. They are committed.

        Returns: each of these with its status, and the other transactions, now aborted.
        """
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
        """Return what a reader of committed data sees, in the order of the transactions."""
        done = (tx for tx in self.all.values() if tx.status == COMMITTED)
        return [record for tx in done for record in tx.records]

    def _commit(self, tx: Transaction, now: int) -> str:
        """Commit a transaction; one that is committed already stays so."""
        if tx.status == PRECOMMITTED:
            expired = self.timeout is not None and now - tx.began_at > self.timeout
            tx.status = LOST if expired else COMMITTED
        return tx.status
