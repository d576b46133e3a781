"""Note the files that a query reads when it starts again, and what is wrong with them."""

from collections.abc import Iterable

from snapshots.domain.inventory.restore_check import Findings, NeededFile
from snapshots.readers.engines.spark_streaming.adapter.jobs import SparkJob
from snapshots.readers.engines.spark_streaming.checksums import disagreement, is_alone
from snapshots.readers.engines.spark_streaming.files import DamagedFile, FileNotRead
from snapshots.readers.engines.spark_streaming.limits import SparkLimits


class NeededFiles:
    """The files of one checkpoint directory. A file that several batches need is read once.

    Attributes:
        damage: what is wrong with files, by path; it grows while files of state are read.
        left: how many more files may be looked up for batches before the newest.
    """

    def __init__(
        self, job: SparkJob, damaged: Iterable[DamagedFile], limits: SparkLimits, most: int
    ) -> None:
        self.job = job
        self.limits = limits
        self.files = job.checkpoint.files
        self.damage = {error.file: error for error in damaged}
        self.left = most
        self._problems: dict[str, tuple[str | None, bool]] = {}

    def need(
        self,
        findings: Findings,
        path: str,
        role: str,
        users: str | None = None,
        *,
        absent: str,
        is_certain: bool = True,
    ) -> None:
        """Note a file.

        Args:
            absent: the sentence that is said if the file is not there.
            is_certain: whether its absence is a witness, and not only a reason not to know.
        """
        problem: str | None = absent
        size = None
        if path in self.files:
            size = self.files.entries[path].size
            problem, is_certain = self.problem(path)
        file = NeededFile(self.job.path(path), role, users, None, size, problem)
        findings.need(file, is_certain=is_certain)

    def write(self, findings: Findings, path: str) -> None:
        """Note a file that the start writes, which checksums that were left alone prevent."""
        if is_alone(self.files, path):
            findings.doubt(
                f"{self.job.path(path)}: It is absent, and its file of checksums is there. On a "
                "local file system Spark cannot write it again then, and does not start."
            )

    def problem(self, path: str) -> tuple[str | None, bool]:
        """Return what is wrong with a file that is there, and whether that is certain."""
        if path not in self._problems:
            self._problems[path] = self._examined(path)
        return self._problems[path]

    def _examined(self, path: str) -> tuple[str | None, bool]:
        if (error := self.damage.get(path)) is not None:
            return error.what, not isinstance(error, FileNotRead)
        try:
            against = disagreement(self.files, path, self.limits)
        except DamagedFile as unread:
            return unread.what, not isinstance(unread, FileNotRead)
        return (None, True) if against is None else (against.sentence, against.is_certain)
