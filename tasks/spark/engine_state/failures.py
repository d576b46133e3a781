"""Explain in one sentence why Spark's state data source failed."""

import re
from dataclasses import dataclass
from pathlib import Path

from tasks.spark.errors import java_causes

LONGEST_MESSAGE = 300

_SENTENCES = {
    "STDS_COMMITTED_BATCH_UNAVAILABLE": "Spark reads the state of committed batches only, and "
    "finds no commit of this one.",
    "STDS_FAILED_TO_READ_STATE_SCHEMA": "Spark cannot read the state's schema, and without it the "
    "bytes have no meaning. Is state/<operator>/0/_metadata/schema part of the upload?",
    "STDS_FAILED_TO_READ_OPERATOR_METADATA": "Spark cannot read the operator's metadata.",
    "STDS_OFFSET_LOG_UNAVAILABLE": "Spark needs the offset file of the batch, and it is missing.",
    "STDS_OFFSET_METADATA_LOG_UNAVAILABLE": "Spark needs the settings in the offset file of the "
    "batch, and they are missing.",
    "STDS_CONFLICT_OPTIONS": "These options exclude each other.",
    "STDS_INVALID_OPTION_VALUE": "Spark does not accept this way of reading for this operator.",
    "STDS_REQUIRED_OPTION_UNSPECIFIED": "The request does not name a part of the state.",
    "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS": "A file of changes that the state "
    "of this batch builds on is missing.",
    "CANNOT_LOAD_STATE_STORE.CANNOT_READ_MISSING_SNAPSHOT_FILE": "The snapshot that the state of "
    "this batch builds on is missing.",
}
NO_REASON = "its reader cannot decode the bytes and gives no reason"
_ELSEWHERE = re.compile(r"(?<![\w./])(?:file:)?/+(?:[^\s/:,;'\"]+/)+([^\s/:,;'\"]*)")
_WORDS = re.compile(r"[A-Za-z]{2,}\W+[A-Za-z]{2,}")
_CAUSES = {
    "java.io.FileNotFoundException": "A file that Spark needs is missing",
    "org.apache.hadoop.fs.ChecksumException": "A file does not match its checksum",
}


@dataclass(frozen=True)
class Failure:
    """Why a read failed: Spark's name of the error, if it has one, and a sentence for people."""

    condition: str | None
    sentence: str


def explain(error: Exception, folder: Path, problem: str | None) -> Failure:
    """Explain an error of Spark's state reader.

    Args:
        folder: the private copy, whose path is left out of the sentence.
        problem: what is damaged in the batch, if anything.
    """
    causes = list(java_causes(error))
    conditions = [name for name in (_condition(error), *map(_condition, causes)) if name]
    condition = next((name for name in conditions if name in _SENTENCES), None)
    condition = condition or next(iter(conditions), None)
    if problem is not None:
        return Failure(condition, f"Spark cannot read a damaged file: {problem}")
    if condition in _SENTENCES:
        return Failure(condition, _SENTENCES[condition])
    return Failure(condition, _from_causes(error, causes, folder))


def plain(message: str, folder: Path) -> str:
    """Return the first line of a message without folders of this machine.

    Paths in ``folder`` become relative to the upload; of other paths only the file name stays.
    A line of only numbers and names is replaced by NO_REASON.
    """
    line = next(iter(message.strip().splitlines()), "")
    line = re.sub(rf"(?:file:)?/*{re.escape(str(folder).lstrip('/'))}/?", "", line)
    line = _ELSEWHERE.sub(r"\1", line).strip()
    return line if _WORDS.search(line) else NO_REASON


def _condition(error) -> str | None:
    """Return Spark's name of an error; few exceptions have one."""
    try:
        return error.getCondition()
    except Exception:  # py4j's, if the exception is not Spark's
        return None


def _from_causes(error: Exception, causes: list, folder: Path) -> str:
    innermost = causes[-1] if causes else None
    line = plain(str(innermost.getMessage() if innermost is not None else error), folder)
    if innermost is not None and (kind := innermost.getClass().getName()) in _CAUSES:
        return f"{_CAUSES[kind]}: {line[:LONGEST_MESSAGE].rstrip('.')}."
    return f"Spark cannot read it: {line[:LONGEST_MESSAGE].rstrip('.')}."
