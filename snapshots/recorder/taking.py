"""The snapshots that a node takes part in, from its own piece until all peers have theirs.

A process says *done* when its piece is on disk, and cannot take that back. When all have said so,
the snapshot is complete, and everybody finds that out for itself. A process gives a snapshot up
only before it has said *done*; then it never can be complete, and the others remove their pieces.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from .pieces import SnapshotName

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .pieces import Folder


class GivenUp(RuntimeError):
    """The snapshot was given up, by this process or another."""


class Taking:
    """The pieces of one process and what it knows of those of its peers."""

    def __init__(self, name: str, everybody: Iterable[str], folder: Folder, keep: int) -> None:
        self._name = name
        self._everybody = set(everybody)
        self._folder = folder
        self._keep = keep
        self._complete: list[SnapshotName] = []
        self._left_over: list[SnapshotName] = []  # later than what this process went back to
        self._pieces: dict[str, dict[str, Any]] = {}
        self._done: dict[str, set[str]] = {}
        self._given_up: set[str] = set()
        self._waiting: dict[str, asyncio.Future[str]] = {}
        self._highest = 0

    def go_back(self, snapshot: str | None) -> dict[str, Any] | None:
        """Return the piece of a snapshot. Those of later ones go when another is complete.

        All earlier pieces count as complete, for this process alone cannot know.
        Raises: ValueError, OSError if there is no such piece.
        """
        name = SnapshotName.parse(snapshot) if snapshot is not None else None
        piece = None if name is None else self._folder.read(name)
        if piece is not None and piece["process"] != self._name:
            raise ValueError(f"The folder has the pieces of {piece['process']}, not {self._name}.")
        for other in self._folder.names():
            if name is not None and other <= name:
                self._complete.append(other)
            else:
                self._left_over.append(other)
        self._remove_old()
        return piece

    def new_name(self, epoch: int) -> str:
        return str(SnapshotName(epoch, self._highest + 1, self._name))

    def heard_of(self, snapshot: str) -> None:
        """Take note of a name. Raises: ValueError if it is none."""
        self._highest = max(self._highest, SnapshotName.parse(snapshot).number)

    def completion(self, snapshot: str) -> asyncio.Future[str]:
        """Return what becomes the name of the snapshot when it is complete everywhere."""
        return self._waiting.setdefault(snapshot, asyncio.get_running_loop().create_future())

    def begin_piece(self, snapshot: str, state: str) -> None:
        """Begin the piece with the recorded state, as JSON text."""
        self._pieces[snapshot] = {"snapshot": snapshot, "process": self._name}
        self._pieces[snapshot].update(state=json.loads(state), channels={})

    def add_channel(self, snapshot: str, peer: str, messages: Iterable[tuple[str, str]]) -> None:
        """Add what was in the channel from a peer: ids, and values as JSON text."""
        contents = [[message, json.loads(value)] for message, value in messages]
        self._pieces[snapshot]["channels"][peer] = contents

    async def write(self, snapshot: str) -> bool:
        """Write the piece. Return whether this process may say *done*. Raises: OSError."""
        piece, name = self._pieces.pop(snapshot, None), SnapshotName.parse(snapshot)
        if piece is None:  # given up before this began
            return False
        await asyncio.to_thread(self._folder.write, name, piece)
        if snapshot in self._given_up:
            self._folder.remove(name)
            return False
        return True

    def done(self, snapshot: str, process: str) -> bool:
        """Take note that a process has written its piece. Return whether that completes it."""
        if snapshot in self._given_up:
            return False
        self._done.setdefault(snapshot, set()).add(process)
        if self._done[snapshot] != self._everybody:
            return False
        del self._done[snapshot]
        self._complete.append(SnapshotName.parse(snapshot))
        self._remove_left_over()
        self._remove_old()
        if (waiting := self._waiting.pop(snapshot, None)) and not waiting.done():
            waiting.set_result(snapshot)
        return True

    def may_give_up(self, snapshot: str) -> bool:
        """Tell whether this process has not said *done* yet."""
        is_complete = SnapshotName.parse(snapshot) in self._complete
        return not is_complete and self._name not in self._done.get(snapshot, ())

    def give_up(self, snapshot: str) -> None:
        self._given_up.add(snapshot)
        self._pieces.pop(snapshot, None)
        self._done.pop(snapshot, None)
        self._folder.remove(SnapshotName.parse(snapshot))
        if (waiting := self._waiting.pop(snapshot, None)) and not waiting.done():
            waiting.set_exception(GivenUp(f"The snapshot {snapshot} was given up."))

    def stop_waiting(self, snapshot: str) -> None:
        if (waiting := self._waiting.pop(snapshot, None)) and not waiting.done():
            sentence = f"The snapshot {snapshot} took too long. It may still become complete."
            waiting.set_exception(GivenUp(sentence))

    def fail(self, error: BaseException) -> None:
        """End all waiting for snapshots."""
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(error)
        self._waiting.clear()

    def _remove_left_over(self) -> None:
        for name in self._left_over:
            self._folder.remove(name)
        self._left_over.clear()

    def _remove_old(self) -> None:
        self._complete.sort()
        for name in self._complete[: -self._keep]:
            self._folder.remove(name)
        del self._complete[: -self._keep]
