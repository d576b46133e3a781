"""Which lines of Flink's pages are compared, and in which words."""

import re

_ABOUT = re.compile(
    r"in flight|(?<!\w)(?:un)?aligned|at-least-once|mode not known|not known|missing|damaged|lacks"
    r"|incomplete|\bcompleted?\b|did not complete|cannot be read|was there|: none\b|known to be"
    r"|^(?:aborted|expired|pending|in progress|not judged)$"
    r"|^Recorded: |recorded nothing|kept as channel state|overtaken|read back|(?:^|, )State: "
    r"|Status: |finished|not in the upload|no times|under way|\bfailed\b|given up|until then"
    r"|cannot be restored|only a completed|\?: (?:yes|no)\b|, Answer: |can go back to it",
    re.IGNORECASE,
)
"""What is about data in flight, the mode, what is complete, or the state of a checkpoint."""

_VALUES = re.compile(
    r"^Kept in the archive|^flags: |further facts?(?:$|: (?!persisted in flight))"
    r"|^Files of the upload: .*, Role: [^.]*$|^What it adds up to"
    r"|^(?:Process states|Verdict|When each process|Derived|More on how it was derived"
    r"|The critical path|Tasks): "
    r"(?!.*(?:kept as channel state|overtaken)$)"
    r"|^Channel contents: (?!\d)|^Channel contents / "
    r"|^Operators / .*(?:, (?:Type|Entries|Parts|Kind|State|Keys|Read from): |operator state in: )"
    r"|^Operators / .* (?:changed|unknown|same|added|removed) |^Operators: (?!.* finished$)"
    r"|Read again: [\d,]+ records? read before \w+ \d+ (?:is|are) read again, and so is all "
    r"that was read after it\.(?: Not counted, because not known: those of .*\.)?$"
    r"|^What (?:is|would be) read and written again: (?!.*read back|.*not known what was in flight"
    r"|How many|.*newest of its|.*can go back|.*its files, which|.*no files of this checkpoint)"
    r"|^Data in flight / |^Data in flight: (?:.*, (?:To|Buffers|Records and more|): |[^,]*$)"
    r"|^It took |Who held it up: |All there: |^Subtasks: |Phase: |^From the trigger|^Stored at: "
    r"|^Data in flight by channel: (?!\d+ channel)(?:.*, (?:To|Look inside): |[^,]*$)"
    r"|, New bytes: |^Counts of each channel: "
    r"|^(?!Can it).*Operator state of version \d cannot be read",
)
"""What is a value that other tests compare, a title, or a text that is the same everywhere."""

_SHORT = (
    (re.compile(r"^\d+ further facts?: "), "facts: "),
    (re.compile(r"^Data in flight: .*, (Part|Bytes): "), r"channel, \1: "),
    (
        re.compile(r"^(Data in flight by channel): .*, (Change|Bytes|Records and more): "),
        r"\1, \2: ",
    ),
    (re.compile(r"^Data in flight: .* (\S+), ([^,]*channels?), .*receivers$"), r"edge: \2"),
    (re.compile(r"^Tasks: .*, Blocked, overtaken, in flight: "), "task: "),
    (re.compile(r"^Operators / .*: .*, Size: (finished|not known)$"), r"subtask: \1"),
    (
        re.compile(
            r"^Operators / .*: (\d+ of \d+ subtasks recorded nothing\.|It had .*"
            r"|\d+ of its subtasks had finished\..*)$"
        ),
        r"\1",
    ),
    (re.compile(r"^(Recorded: .*); \d+ more belong to other scopes$"), r"\1"),
    (re.compile(r"^Operators: .* finished$"), "operator: finished"),
    (re.compile(r"^(What .* again: ).* taken to be a sink: [^.]*\. "), r"\1a sink: "),
    (re.compile(r"^(It was given up after [^:,]*).*$"), r"\1"),
    (re.compile(r"(Not all that a restore reads could be checked\.) .*$"), r"\1"),
)
"""Names of tasks and channels, which other tests compare, are left out of a sentence."""


def sentence(line: str) -> str:
    """Return a line of a page as it is compared; empty if it is of no concern here."""
    if not _ABOUT.search(line) or _VALUES.search(line):
        return ""
    for pattern, short in _SHORT:
        line = pattern.sub(short, line)
    return line
