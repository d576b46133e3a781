"""The messages of Flink's logs that tell of checkpoints, restores, restarts and failures.

Read off the log statements of CheckpointCoordinator, CheckpointFailureManager, ExecutionGraph and
Task, from Flink 1.5 to 2.3; docs/formats/engine-logs.md has the table. Each pattern begins behind
the separator of the layout, so that a line that only quotes such a message is none.
"""

import re

import re2

_START = r"(?:^|- |: |\] |\t)"
_BEHIND_LOGGER = r"(?:(?<= - )|^(?!.{0,400} - ))"  # or the message of a line of JSON
_JOB = r"(?P<job>[0-9a-f]{32})"
_ID = r"(?P<id>\d{1,18})"
(TRIGGERED, COMPLETED, EXPIRED, DECLINED, FAILED, RESTORED, STARTING, RESET, STATE, TASK, NAMED,
 DUMP) = (
    "triggered",
    "completed",
    "expired",
    "declined",
    "failed",
    "restored",
    "starting",
    "reset",
    "state",
    "task",
    "named",
    "dump",
)  # fmt: skip
PATTERNS = tuple(
    (kind, re.compile((_BEHIND_LOGGER if kind in (TASK, NAMED) else _START) + pattern))
    for kind, pattern in (
        (
            TRIGGERED,
            rf"Triggering checkpoint {_ID} (?:\(type=(?P<type>.{{1,200}}?)\) )?@ (?P<at>\d{{1,18}})"
            rf"(?: for job {_JOB})?",
        ),
        (
            COMPLETED,
            rf"Completed checkpoint {_ID}(?: for job {_JOB})? \((?:(?P<bytes>\d{{1,18}}) bytes"
            r"(?:, checkpointDuration=| in )|in )(?P<took>\d{1,18}) ms",
        ),
        (EXPIRED, rf"Checkpoint {_ID} (?:of job {_JOB} )?expired before completing"),
        (
            DECLINED,
            rf"Decline checkpoint {_ID} by task (?P<task>\S{{1,300}})(?: of job {_JOB})?",
        ),
        (
            FAILED,
            rf"(?:Failed to (?:trigger or complete|trigger|complete) checkpoint {_ID} for job "
            rf"{_JOB}\.|Discarding checkpoint {_ID.replace('id', 'id2')}(?: of job "
            rf"{_JOB.replace('job', 'job2')})?"
            r"(?: because(?: of|:)? (?P<reason>.{1,500}))?\.?)",
        ),
        (
            RESTORED,
            rf"Restoring (?:job {_JOB} )?from (?:latest valid checkpoint: )?"
            rf"(?P<kind>Checkpoint|Savepoint) {_ID} @ (?P<at>-?\d{{1,18}})"
            r"(?: for (?P<job2>[0-9a-f]{32}))?(?: located at (?P<path>\S{1,2000}))?",
        ),
        (STARTING, rf"Starting job {_JOB} from savepoint (?P<path>\S{{1,2000}})"),
        (RESET, rf"Reset the checkpoint ID of job {_JOB} to {_ID}"),
        (
            STATE,
            rf"Job (?P<name>.{{1,300}}) \({_JOB}\) switched from state (?P<old>[A-Z]{{1,20}}) to "
            r"(?P<new>[A-Z]{1,20})",
        ),
        (
            TASK,
            r"(?P<task>.{1,500}?) \((?P<attempt>[0-9a-f]{32}\w{0,100})\) switched from "
            r"[A-Z]{1,20} to FAILED",
        ),
        (
            NAMED,
            r"(?P<task>.{1,500}?) \((?P<attempt>[0-9a-f]{32}_[0-9a-f]{32}_\d{1,9}_\d{1,9})\) "
            r"switched from CREATED to [SD]",
        ),
        (
            DUMP,
            rf"CheckpointStatistics \(for jobID={_JOB}, jobName=(?P<name>.{{0,300}}?)\) dump = "
            r"(?P<json>\{.*)",
        ),
    )
)
_SIGNS = {
    TRIGGERED: r"Triggering checkpoint \d",
    COMPLETED: r"Completed checkpoint \d",
    EXPIRED: r"expired before completing",
    DECLINED: r"Decline checkpoint \d",
    FAILED: r"(?:complete|trigger) checkpoint \d|Discarding checkpoint \d",
    RESTORED: r"Restoring (?:job|from) ",
    STARTING: r"Starting job [0-9a-f]+ from savepoint ",
    RESET: r"Reset the checkpoint ID of job ",
    STATE: r"switched from state [A-Z]",
    TASK: r"switched from [A-Z]+ to FAILED",
    NAMED: r"\) switched from CREATED to [SD]",
    DUMP: r"CheckpointStatistics \(for jobID=",
}
SIGNS = re2.compile("|".join(f"({sign})" for sign in _SIGNS.values()).encode())
"""What a line must have before a pattern is tried: the group is the place of the pattern."""

OF_FLINK = re.compile(
    rb"(?m)^[^\n]{0,200}\b(?:INFO|WARN|ERROR|DEBUG|TRACE)\b[^\n]{0,160}(?:org\.apache\.flink\.|"
    rb"\bo\.a\.f\.)|\"[A-Za-z_.]{0,20}logger[A-Za-z_]{0,10}\"\s?:\s?\"org\.apache\.flink\."
)
_NO_JOB = re.compile(
    rb"Triggering checkpoint \d{1,18} (?:\(type=[^\n]{1,200}\) )?@ \d{13}|"
    rb"Completed checkpoint \d{1,18} for job [0-9a-f]{32} \("
)
_OF_ANOTHER = re.compile(rb"\s*(?:\{\s*\"kind\"|\[)")


def begins_as_log(start: bytes) -> bool:
    """Tell whether a text with this beginning is a log of Flink's, by the names of its loggers."""
    if b"\x00" in start[:1024] or _OF_ANOTHER.match(start):
        return False
    return bool(OF_FLINK.search(start) or _NO_JOB.search(start))
