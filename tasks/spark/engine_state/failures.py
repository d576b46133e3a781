"""Why Spark's state data source failed, in one sentence."""

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
    "STDS_OFFSET_LOG_UNAVAILABLE": "Spark needs the offset file of the batch, and it is gone.",
    "STDS_OFFSET_METADATA_LOG_UNAVAILABLE": "Spark needs the settings in the offset file of the "
    "batch, and they are not there.",
    "STDS_CONFLICT_OPTIONS": "These options exclude each other.",
    "STDS_INVALID_OPTION_VALUE": "Spark does not accept this way of reading for this operator.",
    "STDS_REQUIRED_OPTION_UNSPECIFIED": "Spark needs to be told which part of the state to read.",
    "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS": "A file of changes that the state "
    "of this batch builds on is not there.",
    "CANNOT_LOAD_STATE_STORE.CANNOT_READ_MISSING_SNAPSHOT_FILE": "The snapshot that the state of "
    "this batch builds on is not there.",
}
NO_REASON = "its reader stumbled over the bytes and gives no reason"
_ELSEWHERE = re.compile(r"(?<![\w./])(?:file:)?/+(?:[^\s/:,;'\"]+/)+([^\s/:,;'\"]*)")
_WORDS = re.compile(r"[A-Za-z]{2,}\W+[A-Za-z]{2,}")
_CAUSES = {
    "java.io.FileNotFoundException": "A file that Spark needs is not there",
    "org.apache.hadoop.fs.ChecksumException": "A file does not have its checksum",
}


@dataclass(frozen=True)
class Failure:
    """condition: Spark's own name of the error, None where it has none. sentence: for a person."""

    condition: str | None
    sentence: str


def explain(error: Exception, folder: Path, problem: str | None) -> Failure:
    """folder: the private copy, whose path is left out. problem: what is damaged in the batch."""
    causes = list(java_causes(error))
    conditions = [one for one in (_condition(error), *map(_condition, causes)) if one]
    condition = next((one for one in conditions if one in _SENTENCES), None)
    condition = condition or next(iter(conditions), None)
    if problem is not None:
        return Failure(condition, f"Spark stumbles over a damaged file: {problem}")
    if condition in _SENTENCES:
        return Failure(condition, _SENTENCES[condition])
    return Failure(condition, _from_causes(error, causes, folder))


def plain(message: str, folder: Path) -> str:
    """The first line of a message without places of this machine: paths in ``folder`` are the
    upload's, of others the file's name is left. Numbers and names alone say nothing."""
    said = next(iter(message.strip().splitlines()), "")
    said = re.sub(rf"(?:file:)?/*{re.escape(str(folder).lstrip('/'))}/?", "", said)
    said = _ELSEWHERE.sub(r"\1", said).strip()
    return said if _WORDS.search(said) else NO_REASON


def _condition(error) -> str | None:
    """What Spark calls the error; few exceptions have such a name."""
    try:
        return error.getCondition()
    except Exception:  # py4j's, of an exception that is not Spark's
        return None


def _from_causes(error: Exception, causes: list, folder: Path) -> str:
    innermost = causes[-1] if causes else None
    said = plain(str(innermost.getMessage() if innermost is not None else error), folder)
    if innermost is not None and (kind := innermost.getClass().getName()) in _CAUSES:
        return f"{_CAUSES[kind]}: {said[:LONGEST_MESSAGE].rstrip('.')}."
    return f"Spark cannot read it: {said[:LONGEST_MESSAGE].rstrip('.')}."
