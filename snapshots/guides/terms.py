"""The words of the field, each in a sentence or two, with where it comes from."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    name: str
    meaning: str
    source: str


PAPER = "Chandy and Lamport 1985"

TERMS = (
    Term(
        "process",
        "Something that has a state and does one thing after another: a server, a task, an actor.",
        f"{PAPER}, section 2.1",
    ),
    Term(
        "channel",
        "A directed link from one process to another. What is sent on it arrives later.",
        f"{PAPER}, section 2.1",
    ),
    Term(
        "FIFO",
        "First in, first out: on such a channel messages arrive in the order in which they were "
        "sent.",
        f"{PAPER}, section 2.1",
    ),
    Term(
        "event",
        "One step of one process: it changes its state, and may send or receive one message.",
        f"{PAPER}, section 2.1",
    ),
    Term(
        "global state",
        "The state of every process and the messages in every channel, together.",
        f"{PAPER}, section 2.1",
    ),
    Term(
        "snapshot",
        "A global state that was recorded while the system ran: a state for every process, and "
        "messages for every channel. “To record” is to write one’s state down for it.",
        f"{PAPER}, section 3",
    ),
    Term(
        "marker",
        "A message of the snapshot itself. It separates what was sent before the sender recorded "
        "from what was sent after. In Flink it is called a barrier.",
        f"{PAPER}, section 3.2",
    ),
    Term(
        "initiator",
        "A process that begins a snapshot of its own accord. There may be several.",
        f"{PAPER}, section 3.2",
    ),
    Term(
        "channel state",
        "The messages in flight: sent before their sender recorded, and received after their "
        "receiver recorded.",
        f"{PAPER}, section 3.2",
    ),
    Term(
        "cut",
        "A position for every process: so many of its events are inside. In a picture it is a line "
        "through all lanes, with the inside on the left.",
        "Mattern 1989",
    ),
    Term(
        "consistent",
        "A cut is consistent if no message is received inside it that was sent outside it. Such a "
        "message is an orphan: an effect without its cause.",
        "Mattern 1989",
    ),
    Term(
        "verdict",
        "What Cutline finds when it compares what a snapshot recorded with what the log of events "
        "says: consistent, or what is wrong. The witness is the message or event that shows it.",
        "Cutline",
    ),
    Term(
        "prerecording",
        "An event before its process recorded. An event after it is postrecording.",
        f"{PAPER}, section 4.1",
    ),
    Term(
        "Theorem 1",
        "The recorded state can be reached from the state in which the snapshot began, and the "
        "state in which it ended can be reached from there, even if the recorded state never "
        "occurred.",
        f"{PAPER}, section 4.1",
    ),
    Term(
        "stable property",
        "Once true, it stays true: the computation has ended, processes are deadlocked, the token "
        "is lost.",
        f"{PAPER}, sections 1 and 5",
    ),
    Term(
        "possibly, definitely",
        "Possibly: some observer of the run could have seen the condition hold. Definitely: every "
        "observer must have seen it.",
        "Cooper and Marzullo 1991; Garg and Waldecker 1994",
    ),
    Term(
        "happened before",
        "One event happened before another if a chain of steps and messages leads from it to the "
        "other. Two events without such a chain are concurrent.",
        "Lamport 1978",
    ),
    Term(
        "source, sink",
        "The ends of a dataflow. A source reads records from outside, a sink writes results "
        "there; tasks in between process them.",
        "Flink’s documentation",
    ),
    Term(
        "subtask",
        "One of the copies of a task that run side by side and share its work: count[0], count[1]. "
        "Each is a process of its own.",
        "Flink’s documentation",
    ),
    Term(
        "offset",
        "The place in the input from which a source reads next.",
        "Flink’s documentation",
    ),
    Term(
        "barrier",
        "The marker of a dataflow engine: what is before it belongs to the checkpoint, what is "
        "behind it does not.",
        "Carbone et al. 2015 (Flink)",
    ),
    Term(
        "checkpoint",
        "A snapshot that a dataflow engine takes of itself, to go back to after a failure.",
        "Carbone et al. 2015 (Flink)",
    ),
    Term(
        "alignment",
        "A task with several inputs blocks those whose barrier has come, until the last barrier "
        "has come, so that nothing behind a barrier gets into its state.",
        "Carbone et al. 2015 (Flink)",
    ),
    Term(
        "unaligned",
        "Said of a checkpoint in which barriers overtake records and nothing is blocked. What they "
        "overtake is kept as channel state.",
        "Flink’s documentation",
    ),
    Term(
        "critical path",
        "The chain of waits and steps, from the trigger to the end, that made a checkpoint take as "
        "long as it did.",
        "Kelley and Walker 1959",
    ),
    Term(
        "restore",
        "After a failure: to put recorded states and channel contents back, and to read on from "
        "the recorded offsets.",
        "Carbone et al. 2015 (Flink)",
    ),
    Term(
        "back pressure",
        "A slow task fills the channels to it, and those who send to it have to wait.",
        "Flink’s documentation",
    ),
    Term(
        "exactly once",
        "After a failure the state is as if every record had been processed once. On the way a "
        "record may be processed again; sinks need two-phase commit to hide that.",
        "Carbone et al. 2017 (Flink)",
    ),
    Term(
        "at least once",
        "No record is lost, but some may be counted more than once after a failure.",
        "Flink’s documentation",
    ),
    Term(
        "two-phase commit",
        "A sink first makes its results ready, in a transaction that nobody sees; it commits them "
        "when the checkpoint is complete.",
        "Carbone et al. 2017 (Flink)",
    ),
    Term(
        "idempotent",
        "To write it twice is as good as once: the second time replaces the first, or is passed "
        "over.",
        "Spark’s documentation",
    ),
    Term(
        "split",
        "A piece of the input. In SeaTunnel an enumerator hands splits to readers, and each "
        "reader keeps an offset for each of its splits.",
        "SeaTunnel’s documentation",
    ),
    Term(
        "pipeline",
        "A part of a job whose tasks are connected; no record goes from one pipeline to another.",
        "SeaTunnel’s documentation",
    ),
    Term(
        "batch",
        "Here: a range of the input that is processed as one. It is planned, run, and committed; "
        "the snapshot lies between two batches.",
        "Armbrust et al. 2018 (Spark)",
    ),
)

MEANINGS = {term.name: term.meaning for term in TERMS}
"""By name."""
