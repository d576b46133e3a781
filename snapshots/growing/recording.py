"""Answer questions about what has come so far, as about a stored recording."""

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snapshots.domain.model.recording import SnapshotId
from snapshots.growing.following import Following, Wait
from snapshots.growing.journal import Journal
from snapshots.growing.tables import GrowingTables
from snapshots.growing.verdicts import Verdicts
from snapshots.store.control import Control
from snapshots.store.reader import StoredRecording

LOOK_SECONDS = 0.25  # between two looks into the journal


@dataclass(frozen=True, slots=True)
class Head:
    """How far an open recording has come at one moment.

    Attributes:
        waits: the processes whose next event waits for a send that has not come.
        came: how many events have come, shown or not.
        missing: how many events are missing before others that have come.
        is_closed: whether no more will come.
    """

    waits: Sequence[Wait]
    came: int
    missing: int
    is_closed: bool


class SoFar(StoredRecording):
    """An open recording as far as it has come at one moment. Safe for threads.

    Attributes:
        head: how far it has come, shown or not; the only thing that changes.
        under_way: how many snapshots have begun and are not judged.
        fresh: the summaries of judged snapshots, by their ids, that no row has yet; who writes the
            row takes them out.
    """

    def __init__(self, tables: GrowingTables, verdicts: Verdicts, head: Head) -> None:
        """Take the tables, the snapshots that are judged now, and how far it has come."""
        self.folder = Path()  # it has no files
        self.manifest = tables.manifest
        self.tables = tables
        self.head = head
        self._summaries = verdicts.summaries(tables)
        self.under_way = verdicts.under_way
        self.fresh = verdicts.fresh
        self._searches = OrderedDict()
        self._searching = threading.Lock()

    @property
    def is_dataflow(self) -> bool:
        """No checkpoints are made of what has come so far."""
        return False

    @property
    def control(self) -> Control:
        """What tasks do is not told before the recording is closed."""
        return Control()

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
                has_more, head = self._following.go_on(), self._head()
                if has_more or self._so_far is None:
                    self._so_far = SoFar(self._judged(name), self._verdicts, head)
                self._so_far.head = head
                self._looked_at = time.monotonic()
            return self._so_far

    def _head(self) -> Head:
        journal = self._following.journal
        waits = self._following.waits()
        return Head(waits, journal.events, journal.missing, journal.is_closed)

    def _judged(self, name: str) -> GrowingTables:
        """Return the tables as they are now, with the snapshots that are judged."""
        tables = self._following.view(name)
        self._verdicts.take(tables, self._following.changed, self._following.records_of)
        self._following.changed.clear()
        tables.judged_rows = self._verdicts.rows(tables)
        return tables
