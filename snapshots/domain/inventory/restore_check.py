"""Whether everything is there that a restore of a checkpoint needs, and what nobody needs.

The reader of an engine knows which files a restore reads, and notes what it finds of them. The
answer follows from these notes: a witness outweighs what is not known, and only a checkpoint
without both is restorable.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from snapshots.domain.model.as_json import json_property
from snapshots.domain.model.defects import times
from snapshots.domain.model.listing import listed

RESTORABLE, NOT_RESTORABLE, NOT_KNOWN = "restorable", "not-restorable", "not-known"
ANSWERS = (RESTORABLE, NOT_RESTORABLE, NOT_KNOWN)
MOST_FILES = 1_000  # of a checkpoint that are listed, those with a problem first
_MOST_SENTENCES = 100
NOT_COMPLETED = "It is {}: only a completed checkpoint can be restored."
NO_FILES = "Its files are not in the upload."
LISTED = "listed: "  # how the key of a job begins that only a listing names
AS_LISTED = "As far as names and sizes tell"
"""How a reason begins for which only the content of files is not known: a listing names them."""


@dataclass(frozen=True, slots=True)
class NeededFile:
    """A file that a restore of a checkpoint reads.

    Attributes:
        path: the path in the upload; for an absent file the path that names it.
        role: what the file is for, in a word.
        users: the states, subtasks or partitions that need it, for people. None if the whole
            checkpoint does.
        bytes: the size that the checkpoint names for it. None if no file names a size.
        uploaded: the size that it has. None if it is absent.
        problem: what is wrong with it, as a sentence. None if nothing is.
    """

    path: str
    role: str
    users: str | None
    bytes: int | None
    uploaded: int | None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Completeness:
    """The answer of a RestoreCheck with its reasons, for pages that answer other questions.

    Attributes:
        answer: ``restorable``, ``not-restorable`` or ``not-known``.
        witnesses: what is absent or damaged, as sentences.
        unknown: why the answer is not known, as sentences.
    """

    answer: str
    witnesses: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """Return why it is not known that everything is there; none if it is."""
        if self.answer == RESTORABLE:
            return ()
        return (*self.witnesses, *self.unknown) or (NO_FILES,)

    @property
    def as_listed(self) -> str | None:
        """Return what names and sizes tell where only a listing names files; None elsewhere."""
        found = (one[one.find(AS_LISTED) :] for one in self.unknown if AS_LISTED in one)
        return None if self.witnesses else next(found, None)

    def gap(self) -> str | None:
        """Return the first reason and how many more there are; None if everything is there."""
        if not self.reasons:
            return None
        more = len(self.reasons) - 1
        others = f" And {times(more, 'more reason')}." if more else ""
        return f"{self.reasons[0]}{others}"


@dataclass(frozen=True, slots=True)
class RestoreCheck:
    """Tells whether everything is there that a restore of one checkpoint needs.

    Attributes:
        number: its place among the checkpoints of the upload. None if the upload's list lacks it.
        job: the key of its job. None if that is not known.
        id: the engine's number of it, or that of the batch.
        kind: the engine's word for the kind of checkpoint.
        path: its file or folder in the upload. None if it has none.
        answer: ``restorable``, ``not-restorable`` or ``not-known``.
        headline: the answer, as a sentence.
        witnesses: what is absent or damaged, as sentences.
        unknown: why the answer is not known, as sentences.
        notes: what else has to be known, as sentences.
        files: the files that a restore reads, those with a problem first.
        files_total: how many files a restore reads.
        bytes: the size of those that are there.
        decides: whether it counts for the answer about the whole upload.
    """

    number: int | None
    job: str | None
    id: int
    kind: str
    path: str | None
    answer: str
    headline: str
    witnesses: tuple[str, ...]
    unknown: tuple[str, ...]
    notes: tuple[str, ...]
    files: tuple[NeededFile, ...]
    files_total: int
    bytes: int
    decides: bool = True

    @property
    def completeness(self) -> Completeness:
        """Return the answer with its reasons."""
        return Completeness(self.answer, self.witnesses, self.unknown)


@dataclass(frozen=True, slots=True)
class UnneededFile:
    """A file that no checkpoint of the upload needs.

    Attributes:
        path: the path in the upload.
        bytes: its size.
        reason: why it is not needed, as a sentence.
    """

    path: str
    bytes: int
    reason: str


@dataclass(frozen=True, slots=True)
class AbsentFile:
    """A file that checkpoints need and the upload lacks.

    Attributes:
        path: the path that names it.
        bytes: the size that the checkpoints name. None if they name none.
        reason: what is known of its absence, as a sentence.
        checkpoints: the engine's numbers of the checkpoints that need it.
    """

    path: str
    bytes: int | None
    reason: str
    checkpoints: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class UploadCheck:
    """Tells of every checkpoint of an upload whether everything is there.

    Attributes:
        engine: ``flink``, ``spark`` or ``seatunnel``.
        answer: the worst answer of those checkpoints that decide.
        headline: the answer, as a sentence.
        checks: the answers, in the order of the upload's checkpoints; then checkpoints that the
            upload's list lacks.
        absent: the files that these checkpoints need and the upload lacks.
        unneeded: the files that no checkpoint needs.
        notes: what else has to be known, as sentences.
    """

    engine: str
    answer: str
    headline: str
    checks: tuple[RestoreCheck, ...]
    absent: tuple[AbsentFile, ...]
    unneeded: tuple[UnneededFile, ...]
    notes: tuple[str, ...] = ()

    @json_property
    def absent_total(self) -> int:
        """How many files are absent."""
        return len(self.absent)

    @json_property
    def unneeded_total(self) -> int:
        """How many files no checkpoint needs."""
        return len(self.unneeded)

    @json_property
    def unneeded_bytes(self) -> int:
        """The size of all files that no checkpoint needs."""
        return sum(file.bytes for file in self.unneeded)


@dataclass(slots=True)
class Findings:
    """What is found of the files that one checkpoint needs.

    Attributes:
        files: the files by path.
        witnesses: sentences about what is absent or damaged, each once.
        unknown: sentences about what cannot be told, each once.
        notes: other sentences, each once.
    """

    files: dict[str, NeededFile] = field(default_factory=dict)
    witnesses: dict[str, None] = field(default_factory=dict)
    unknown: dict[str, None] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)

    def need(self, file: NeededFile, *, is_certain: bool = True) -> None:
        """Add a file. Its problem is a witness, or if it is not certain a reason not to know."""
        former = self.files.get(file.path)
        if former is None or former.problem is None:
            self.files[file.path] = file
        if file.problem is not None:
            sentence = f"{file.path}: {file.problem}"
            (self.witnesses if is_certain else self.unknown)[sentence] = None

    def refute(self, sentence: str) -> None:
        """Add a witness that no single file explains."""
        self.witnesses[sentence] = None

    def doubt(self, sentence: str) -> None:
        """Add a reason not to know the answer."""
        self.unknown[sentence] = None

    def note(self, sentence: str) -> None:
        """Add a sentence that changes no answer."""
        self.notes[sentence] = None

    def answer(self) -> str:
        """Return one of ANSWERS."""
        if self.witnesses:
            return NOT_RESTORABLE
        return NOT_KNOWN if self.unknown or not self.files else RESTORABLE


def conclude(
    findings: Findings,
    *,
    number: int | None,
    job: str | None,
    id: int,
    kind: str,
    path: str | None,
    decides: bool = True,
) -> RestoreCheck:
    """Answer for one checkpoint, which the keyword arguments name."""
    files = sorted(findings.files.values(), key=lambda file: file.problem is None)
    size = sum(file.uploaded or 0 for file in files)
    return RestoreCheck(
        number=number,
        job=job,
        id=id,
        kind=kind,
        path=path,
        answer=findings.answer(),
        headline=_headline(findings, len(files), size),
        witnesses=_clipped(findings.witnesses),
        unknown=_clipped(findings.unknown),
        notes=_clipped(findings.notes),
        files=tuple(files[:MOST_FILES]),
        files_total=len(files),
        bytes=size,
        decides=decides,
    )


def _headline(findings: Findings, files: int, size: int) -> str:
    answer = findings.answer()
    if answer == RESTORABLE:
        return f"Yes: all that a restore reads is there, {size:,} bytes in {times(files, 'file')}."
    word, sentences = ("No", findings.witnesses) if findings.witnesses else (
        "Not known", findings.unknown or {NO_FILES: None}
    )  # fmt: skip
    more = f" And {times(len(sentences) - 1, 'more reason')}." if len(sentences) > 1 else ""
    return f"{word}: {next(iter(sentences))}{more}"


def _clipped(sentences: Iterable[str]) -> tuple[str, ...]:
    every = list(sentences)
    rest = len(every) - _MOST_SENTENCES
    return (*every[:_MOST_SENTENCES], *([f"{rest:,} more of these."] if rest > 0 else []))


def check_upload(
    engine: str,
    checks: Sequence[RestoreCheck],
    unneeded: Sequence[UnneededFile],
    notes: Sequence[str] = (),
) -> UploadCheck:
    """Answer for a whole upload."""
    deciding = [check for check in checks if check.decides]
    return UploadCheck(
        engine=engine,
        answer=_worst(deciding),
        headline=_summary(engine, deciding),
        checks=tuple(checks),
        absent=tuple(_absent(deciding)),
        unneeded=tuple(unneeded),
        notes=tuple(notes),
    )


def _worst(checks: Sequence[RestoreCheck]) -> str:
    answers = {check.answer for check in checks}
    return next((one for one in (NOT_RESTORABLE, NOT_KNOWN) if one in answers), None) or (
        RESTORABLE if answers else NOT_KNOWN
    )


def _summary(engine: str, checks: Sequence[RestoreCheck]) -> str:
    if not checks:
        return "Not known: the upload has no file of a checkpoint."
    if len(checks) == 1:
        return checks[0].headline
    noun = "queries" if engine == "spark" else "checkpoints"  # of a query its last batch decides
    counts = [sum(check.answer == answer for check in checks) for answer in ANSWERS]
    if counts[0] == len(checks):
        return f"Yes: all {len(checks):,} {noun} are restorable."
    words = ("restorable", "not restorable", "not known")
    parts = [_counted(count, word) for count, word in zip(counts, words, strict=True) if count]
    answer = "No" if counts[1] else "Not known"
    return f"{answer}: of {len(checks):,} {noun} {listed(parts)}."


def _counted(count: int, word: str) -> str:
    return f"{count:,} {'is' if count == 1 else 'are'} {word}"


def _absent(checks: Sequence[RestoreCheck]) -> Iterable[AbsentFile]:
    absent: dict[str, AbsentFile] = {}
    for check in checks:
        for file in check.files:
            if file.uploaded is None:
                former = absent.get(file.path)
                users = () if former is None else former.checkpoints
                own = AbsentFile(file.path, file.bytes, file.problem or "", (check.id,))
                absent[file.path] = replace(own, checkpoints=(*users, check.id))
    return absent.values()


def leaving_out(check: UploadCheck, paths: Collection[str]) -> UploadCheck:
    """Answer without the checkpoints whose files or folders are in ``paths``."""
    checks = tuple(
        replace(one, decides=one.decides and one.path not in paths) for one in check.checks
    )
    deciding = [one for one in checks if one.decides]
    return replace(
        check, checks=checks, answer=_worst(deciding), headline=_summary(check.engine, deciding)
    )
