"""Changes of a checkpoint directory, with what Spark does then and what Cutline answers before.

The table of docs/formats/completeness.md has the same rows. Each change fits the checkpoint of a
query over files that keeps state in HDFS-backed stores, has a compacted log of its source, and a
snapshot of state in partition 0 that older files can replace.
"""

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from snapshots.readers.engines.registry import READERS
from tests.readers.engines.needed_files import NO, NOT_KNOWN, YES

STARTED, FAILED = "started", "failed"
AGAIN, ONE_AGAIN, PLANNED_AGAIN = (
    "ran the batch again",
    "ran one batch again",
    "planned the batch again",
)
FROM_THE_NEWEST = (AGAIN, ONE_AGAIN, PLANNED_AGAIN)
"""What Spark does if its first batch is the newest one of the checkpoint, and not the next one."""

STORE, OPERATOR, SCHEMA = "state/0/0", "state/0/_metadata/metadata", "state/0/0/_metadata/schema"


class Copy:
    """A copy of a checkpoint directory that is to be damaged."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.newest = max(self._numbers("offsets", r"(\d+)"))
        self.snapshot = max(self._numbers(STORE, r"(\d+)\.snapshot"))
        self.compacted = max(self._numbers("sources/0", r"(\d+)\.compact"))

    def _numbers(self, folder: str, pattern: str) -> Iterator[int]:
        for path in (self.root / folder).iterdir():
            if match := re.fullmatch(pattern, path.name):
                yield int(match[1])

    def remove(self, *paths: str) -> None:
        """Remove files with their checksums."""
        for path in paths:
            self.leave_checksums(path)
            _checksums(self.root / path).unlink(missing_ok=True)

    def leave_checksums(self, path: str) -> None:
        """Remove a file, but not its checksums."""
        (self.root / path).unlink()

    def cut(self, path: str) -> None:
        """Cut a file in half."""
        content = (self.root / path).read_bytes()
        (self.root / path).write_bytes(content[: len(content) // 2])

    def cut_checksums(self, path: str) -> None:
        """Cut the checksums of a file in half."""
        self.cut(_checksums(self.root / path).relative_to(self.root).as_posix())

    def remove_all_checksums(self) -> None:
        """Remove all files of checksums."""
        for path in self.root.rglob(".*.crc"):
            path.unlink()


def _checksums(file: Path) -> Path:
    return file.with_name(f".{file.name}.crc")


@dataclass(frozen=True)
class Damage:
    """Some changes, each of a copy of its own, that have the same consequences.

    Attributes:
        title: the changes in words, as the document has them.
        did: what a real Spark did.
        answer: the answer about the copy.
        changes: what is done to each copy.
    """

    title: str
    did: str
    answer: str
    changes: tuple[Callable[[Copy], object], ...]


DAMAGES = (
    Damage(
        "nothing; a delta that a snapshot covers, an older delta, a source log before the "
        "compacted one removed",
        STARTED,
        YES,
        (
            lambda copy: None,
            lambda copy: copy.remove(f"{STORE}/{copy.snapshot}.delta"),
            lambda copy: copy.remove(f"{STORE}/{copy.snapshot - 1}.delta"),
            lambda copy: copy.remove(f"sources/0/{copy.compacted - 1}"),
        ),
    ),
    Damage(
        "the newest snapshot removed, older deltas there",
        STARTED,
        YES,
        (lambda copy: copy.remove(f"{STORE}/{copy.snapshot}.snapshot"),),
    ),
    Damage(
        "the newest snapshot cut, older deltas there",
        STARTED,
        YES,
        (lambda copy: copy.cut(f"{STORE}/{copy.snapshot}.snapshot"),),
    ),
    Damage(
        "the newest commit removed with its checksums",
        AGAIN,
        YES,
        (lambda copy: copy.remove(f"commits/{copy.newest}"),),
    ),
    Damage(
        "the commit before the newest removed",
        STARTED,
        YES,
        (
            lambda copy: copy.remove(f"commits/{copy.newest - 1}"),
            lambda copy: copy.leave_checksums(f"commits/{copy.newest - 1}"),
        ),
    ),
    Damage(
        "the two newest commits removed",
        ONE_AGAIN,
        NOT_KNOWN,
        (lambda copy: copy.remove(f"commits/{copy.newest - 1}", f"commits/{copy.newest}"),),
    ),
    Damage(
        "the newest offset file and its commit removed",
        PLANNED_AGAIN,
        YES,
        (lambda copy: copy.remove(f"offsets/{copy.newest}", f"commits/{copy.newest}"),),
    ),
    Damage(
        "operator metadata removed with their checksums, or cut",
        STARTED,
        YES,
        (lambda copy: copy.remove(OPERATOR), lambda copy: copy.cut(OPERATOR)),
    ),
    Damage(
        "the schema removed with its checksums",
        STARTED,
        NOT_KNOWN,
        (lambda copy: copy.remove(SCHEMA),),
    ),
    Damage(
        "a commit, the operator metadata or the schema removed, their checksums left",
        FAILED,
        NOT_KNOWN,
        (
            lambda copy: copy.leave_checksums(f"commits/{copy.newest}"),
            lambda copy: copy.leave_checksums(OPERATOR),
            lambda copy: copy.leave_checksums(SCHEMA),
        ),
    ),
    Damage(
        "all files of checksums removed, or one of them cut",
        STARTED,
        YES,
        (
            lambda copy: copy.remove_all_checksums(),
            lambda copy: copy.cut_checksums(f"{STORE}/{copy.snapshot - 1}.delta"),
        ),
    ),
    Damage(
        "`metadata` removed or cut",
        FAILED,
        NO,
        (lambda copy: copy.remove("metadata"), lambda copy: copy.cut("metadata")),
    ),
    Damage(
        "the newest offset file removed or cut, the one before it removed",
        FAILED,
        NO,
        (
            lambda copy: copy.remove(f"offsets/{copy.newest}"),
            lambda copy: copy.cut(f"offsets/{copy.newest}"),
            lambda copy: copy.remove(f"offsets/{copy.newest - 1}"),
        ),
    ),
    Damage(
        "the newest commit cut; the schema cut",
        FAILED,
        NO,
        (lambda copy: copy.cut(f"commits/{copy.newest}"), lambda copy: copy.cut(SCHEMA)),
    ),
    Damage(
        "a file of the source log from the compacted one on removed",
        FAILED,
        NO,
        (
            lambda copy: copy.remove(f"sources/0/{copy.compacted}.compact"),
            lambda copy: copy.remove(f"sources/0/{copy.compacted + 1}"),
            lambda copy: copy.remove(f"sources/0/{copy.newest}"),
        ),
    ),
    Damage(
        "the newest delta removed; the folder of a partition removed",
        FAILED,
        NO,
        (
            lambda copy: copy.remove(f"{STORE}/{copy.newest + 1}.delta"),
            lambda copy: shutil.rmtree(copy.root / STORE),
        ),
    ),
)


def answer_about(root: Path) -> str:
    """Return the answer about all checkpoints below a folder together."""
    return READERS["spark-streaming"].read(root).restore_check().answer
