"""Answer questions about what has come so far, as about a stored recording."""

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from snapshots.domain.model.recording import SnapshotId
from snapshots.growing.following import Following, Wait
from snapshots.growing.journal import Journal
from snapshots.growing.tables import GrowingTables
from snapshots.growing.verdicts import Verdicts
from snapshots.store.reader import StoredRecording

LOOK_SECONDS = 0.25  # between two looks into the journal


class SoFar(StoredRecording):
    """An open recording as far as it has come at one moment. Safe for threads.

    Attributes:
        waits: the processes whose next event waits for a send that has not come.
        came: how many events have come, shown or not.
        missing: how many events are missing before others that have come.
        is_closed: whether no more will come.
        fresh: the summaries of judged snapshots, by their ids, that no row has yet; who writes the
            row takes them out.
    """

    came = missing = 0
    waits: Sequence[Wait] = ()
    is_closed = False

    def __init__(
        self,
        tables: GrowingTables,
        summaries: Sequence[dict[str, Any]],
        fresh: dict[str, dict[str, Any]],
    ) -> None:
        """Take the tables, and the summaries of the judged snapshots."""
        self.folder = Path()  # it has no files
        self.manifest = tables.manifest
        self.tables = tables
        self._summaries = summaries
        self.fresh = fresh
        self._searches = OrderedDict()
        self._searching = threading.Lock()

    @property
    def is_dataflow(self) -> bool:
        """No checkpoints are made of what has come so far."""
        return False

    def snapshots(self) -> list[dict[str, Any]]:
        """Return one summary for each snapshot that is judged, in the order of their beginning."""
        return list(self._summaries)

    def _json(self, name: str, absent: Any) -> Any:
        return absent

    def _summary(self, snapshot: SnapshotId) -> dict[str, Any]:
        return self._searched(snapshot)


class OpenRecording:
    """An open recording that is looked at. Safe for threads.

    It reads the journal when it is asked, and remembers what it has made of it.
    """

    def __init__(self, path: Path, folder: Path) -> None:
        """Open the journal at ``path``. Columns lie in files without a name in ``folder``.

        Raises: FileNotFoundError, JournalDamaged, OSError.
        """
        self._following = Following(Journal(path), folder)
        self._lock = threading.Lock()
        self._looked_at = float("-inf")
        self._so_far: SoFar | None = None
        self._verdicts = Verdicts()

    def so_far(self, name: str) -> SoFar:
        """Return what has come, at most LOOK_SECONDS ago. Raises: JournalDamaged, OSError."""
        with self._lock:
            if self._so_far is None or time.monotonic() - self._looked_at >= LOOK_SECONDS:
                if self._following.go_on() or self._so_far is None:
                    tables = self._following.view(name)
                    self._verdicts.take(tables, self._following.changed)
                    self._following.changed.clear()
                    tables.judged_rows = self._verdicts.rows(tables)
                    summaries = self._verdicts.summaries(tables)
                    self._so_far = SoFar(tables, summaries, self._verdicts.fresh)
                journal = self._following.journal
                self._so_far.waits = self._following.waits()
                self._so_far.came, self._so_far.missing = journal.events, journal.missing
                self._so_far.is_closed = journal.is_closed
                self._looked_at = time.monotonic()
            return self._so_far
