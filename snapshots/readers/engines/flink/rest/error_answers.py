"""Read Flink's answers that say that something went wrong.

An error answer is ``{"errors": [text, …]}``; the answer about an operation that failed, such as a
savepoint, is ``{"status": {"id": "COMPLETED"}, "operation": {"failure-cause": {…}}}``.

Source: Flink, ErrorResponseBody, AsynchronousOperationResult and the exceptions of the handlers.
The first line of a text is the message; the frames of Java behind it are left out.
"""

import re

from snapshots.readers.engines.flink.rest.fields import mapping, text

LONGEST = 300  # characters of a message that are kept
_MOST = 20  # messages of an answer
_KEY = "errors"
_CLASS = re.compile(r"^(?:[\w.$]+(?:Exception|Error):\s*)+")
_ID = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{32}(?![0-9A-Za-z])")
_FLINKS = re.compile(
    r"org\.apache\.flink|Checkpointing (?:has not been|is not) enabled|AdaptiveScheduler"
    r"|Unable to load requested file|\b[Jj]ob `?[0-9a-f]{32}`? not found"
    r"|Could not find checkpointing statistics|Could not find Flink job|Internal server error\."
    r"|ongoing leader election|(?:^|\[\s*\")(?:File not found\.|Not found: /)|\bjob ID\b"
)
_OFF = re.compile(r"Checkpointing (?:has not been|is not) enabled")
_NO_JOB = re.compile(
    r"\b[Jj]ob \(?`?[0-9a-f]{32}`?\)? (?:was |is )?not found|Could not find Flink job"
)
_BAD_JOB = re.compile(r"path parameter \(jobid\)")
_NO_PATH = re.compile(r"Unable to load requested file|^Not found: /|^File not found", re.M)
_STOPPED_HALFWAY = re.compile(r"A savepoint has been created at")
_NO_LEADER = re.compile(r"ongoing leader election")
_NOT_RUNNING = re.compile(r"[Nn]ot all required tasks are currently running")
_CAUSED_BY = "Caused by: "
_NO_CHECKPOINT = re.compile(r"Could not find checkpointing statistics for checkpoint (\d{1,19})")


def messages_of(value: object) -> tuple[str, ...]:
    """Return the messages of an error answer of Flink's; none for any other JSON."""
    fields = mapping(value)
    if cause := mapping(fields, "operation", "failure-cause"):
        return _of_operation(text(cause, "stack-trace") or text(cause, "class") or "")
    listed = fields.get(_KEY)
    if fields.keys() != {_KEY} or not isinstance(listed, list):
        return ()
    texts = [each for each in listed[:_MOST] if isinstance(each, str)]
    if not any(map(_FLINKS.search, texts)):
        return ()
    return tuple(message for each in texts if (message := _message(each)))


def _of_operation(trace: str) -> tuple[str, ...]:
    """Return the message of the innermost cause in a stack trace."""
    causes = [line for line in trace.splitlines() if line.startswith(_CAUSED_BY)]
    message = _message(causes[-1].removeprefix(_CAUSED_BY)) if causes else _message(trace)
    return (message or "Flink does not say why the operation failed.",)


def begins_as_errors(start: str) -> bool:
    """Tell whether the beginning of a JSON text with the only key ``errors`` is Flink's."""
    return _FLINKS.search(start) is not None


def is_off(messages: tuple[str, ...]) -> bool:
    """Tell whether Flink says that the job takes no checkpoints."""
    return any(_OFF.search(message) for message in messages)


def job_in(messages: tuple[str, ...]) -> str | None:
    """Return the id of the job that messages are about; None if they name none or several."""
    ids = {found for message in messages for found in _ID.findall(message)}
    return next(iter(ids)) if len(ids) == 1 else None


def likely_cause(messages: tuple[str, ...]) -> str:
    """Return the likely cause of an answer with the way that works, in sentences; may be empty."""
    said = "\n".join(messages)
    if _NO_JOB.search(said):
        return (
            "Is the id right, and is it a job of this cluster? A cluster forgets its jobs when it "
            "is restarted, and ended jobs after a time; /jobs/overview lists those that it knows."
        )
    if _BAD_JOB.search(said):
        return (
            "The path needs the id of the job, which has 32 hexadecimal digits, and not its name: "
            "/jobs/overview lists both."
        )
    if _NO_PATH.search(said):
        return "The cluster has no such path: is it spelt as in the API, as /jobs/ID/checkpoints?"
    if _STOPPED_HALFWAY.search(said):
        return "The savepoint is there and the job did not end: upload its folder to check it."
    if _NO_LEADER.search(said):
        return "The cluster had no JobManager that leads at that moment: ask again in a while."
    if _NOT_RUNNING.search(said):
        return (
            "Flink takes a savepoint only while all tasks of the job run: ask again when they do."
        )
    if number := _NO_CHECKPOINT.search(said):
        return (
            f"Flink keeps the details of the last checkpoints only, and {number[1]} is none of "
            "them: /jobs/ID/checkpoints lists them."
        )
    return "Ask again, and look at the log of the JobManager if the answer stays the same."


def _message(trace: str) -> str:
    line = next((part.strip() for part in trace.splitlines() if part.strip()), "")
    return _CLASS.sub("", line)[:LONGEST]
