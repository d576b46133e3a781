"""A sentence of an answer, and where it can be checked.

A sentence claims only what the upload holds. What it does not hold has the level NOT_KNOWN, the
reason, and what to upload for it.
"""

from dataclasses import dataclass

from snapshots.domain.answering.job_report import JobFailure, TaskLoad

WRONG, WATCH, WELL, FACT, NOT_KNOWN = LEVELS = ("wrong", "watch", "well", "fact", "not-known")
"""Levels from the worst: what fails, what needs a look, what is well, what just is so."""

CHECKPOINT, TIMES, ALL_TIMES, CONTENTS = "checkpoint", "times", "all-times", "contents"
LOADS, FAILURES = "loads", "failures"
SNAPSHOT, WORKBENCH, DEFECTS, SNAPSHOTS = "snapshot", "workbench", "defects", "snapshots"
KINDS = (
    CHECKPOINT,
    TIMES,
    ALL_TIMES,
    CONTENTS,
    LOADS,
    FAILURES,
    SNAPSHOT,
    WORKBENCH,
    DEFECTS,
    SNAPSHOTS,
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """A place at which a sentence can be checked.

    Attributes:
        kind: ``checkpoint`` (its place in the inventory), ``times`` (what its tasks took),
            ``all-times``, ``contents`` (the inventory), ``loads`` or ``failures`` (tables below the
            sentences), ``snapshot``, ``workbench``, ``defects`` or ``snapshots``.
        label: the text of the link.
        number: the checkpoint's number in the upload; None where the evidence is no checkpoint.
        name: the name of the snapshot; None where the evidence is no snapshot.
    """

    kind: str
    label: str
    number: int | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of an answer.

    Attributes:
        code: what the sentence is about, such as ``state``, ``load`` or ``restorable``.
        text: the sentence, which may have a second one that explains it.
        level: ``wrong``, ``watch``, ``well``, ``fact`` or ``not-known``.
        evidence: where it can be checked.
        upload: the commands that get what the upload lacks; empty if it lacks nothing.
    """

    code: str
    text: str
    level: str = FACT
    evidence: tuple[Evidence, ...] = ()
    upload: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Subject:
    """The sentences about one job, one query or one log.

    Attributes:
        key: the engine's id of the job; empty if it is not known or if this is a log.
        name: what people call it; None if it has no name.
        sentences: the sentences, the most important first.
        loads: how busy each subtask was; empty if the upload does not say.
        failures: the failures of the job, the newest first.
    """

    key: str
    name: str | None
    sentences: tuple[Sentence, ...]
    loads: tuple[TaskLoad, ...] = ()
    failures: tuple[JobFailure, ...] = ()


@dataclass(frozen=True, slots=True)
class FirstAnswer:
    """The first answer to a recording.

    Attributes:
        engine: ``flink``, ``spark`` or ``seatunnel``; None for a log.
        subjects: the sentences by job or query, the newest first; a log is one subject.
    """

    engine: str | None
    subjects: tuple[Subject, ...]
