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
        "A directed link from one process to another. FIFO: messages arrive in the order in which "
        "they were sent.",
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
        "The messages that were sent before the sender recorded and received after the receiver "
        "did: they were in flight.",
        f"{PAPER}, section 3.2",
    ),
    Term("cut", "A position for every process: so many of its events are inside.", "Mattern 1989"),
    Term(
        "consistent",
        "A cut is consistent if no message is received inside it that was sent outside it. Such a "
        "message is an orphan: an effect without its cause.",
        "Mattern 1989",
    ),
    Term(
        "prerecording",
        "An event before its process recorded; those after are postrecording.",
        f"{PAPER}, section 4.1",
    ),
    Term(
        "Theorem 1",
        "The recorded state can be reached from the state in which the snapshot began and leads to "
        "the state in which it ended, even if it never occurred.",
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
        "A task with several inputs blocks those whose barrier has come until the last barrier "
        "has: so nothing behind a barrier gets into its state.",
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
)
