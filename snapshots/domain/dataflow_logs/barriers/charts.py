"""The flow charts of Flink's aligner and tracker: their nodes, and the ways between them.

Source: Flink, SingleCheckpointBarrierHandler and CheckpointBarrierTracker; Carbone et al.,
"Lightweight Asynchronous Snapshots for Distributed Dataflows", 2015.
"""

from dataclasses import dataclass
from typing import NamedTuple

ENTRY, DECISION, ACTION = "entry", "decision", "action"
YES, NO = "yes", "no"

BARRIER, END, CANCEL = "barrier", "end", "cancel"
OLD, IGNORE, ALL, OFF = "old", "ignore", "all", "off"
FORWARD, SNAPSHOT = "forward", "snapshot"
SAME, UNDER_WAY, DROP, FOLLOW = "same", "under way", "drop", "follow"
BLOCK, GIVE_UP, UNBLOCK = "block", "give up", "unblock"
PENDING, BEGIN, MANY, DROP_OLDEST = "pending", "begin", "many", "drop oldest"
COUNT, WAIT, NOTIFY, FORGET = "count", "wait", "notify", "forget"

MOST_PENDING = 50
"""Checkpoints that a tracker counts at the same time."""


class Node(NamedTuple):
    """A node of a chart: its kind is ENTRY, DECISION or ACTION."""

    kind: str
    text: str


class Way(NamedTuple):
    """A way from one node to another; a decision's has the answer, YES or NO."""

    source: str
    target: str
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """A flow chart. ``nodes`` are by their names."""

    title: str
    nodes: dict[str, Node]
    ways: tuple[Way, ...]


class Step(NamedTuple):
    """A node to which an event leads, and why, as a sentence."""

    node: str
    why: str


ENTRIES = {
    BARRIER: Node(ENTRY, "A barrier comes on a channel"),
    END: Node(ENTRY, "A channel ends"),
    CANCEL: Node(ENTRY, "A cancellation comes on a channel"),
}
QUESTIONS = {
    OLD: Node(DECISION, "Is its checkpoint older, or over?"),
    IGNORE: Node(ACTION, "Ignore it"),
    ALL: Node(DECISION, "Are all barriers here?"),
    OFF: Node(DECISION, "Is it called off, or declined?"),
}
LAST = {
    FORWARD: Node(ACTION, "Forward it on all outputs"),
    SNAPSHOT: Node(ACTION, "Take the snapshot: copy the state"),
}
WAYS = (
    Way(BARRIER, OLD),
    Way(OLD, IGNORE, YES),
    Way(END, ALL),
    Way(ALL, OFF, YES),
    Way(OFF, FORWARD, NO),
    Way(FORWARD, SNAPSHOT),
)
"""What both charts have in common."""
ALIGNER = Chart(
    "Aligner",
    {
        **ENTRIES,
        **QUESTIONS,
        SAME: Node(DECISION, "Does the task follow it already?"),
        UNDER_WAY: Node(DECISION, "Is an older one under way?"),
        DROP: Node(ACTION, "Cancel the older one, and unblock"),
        FOLLOW: Node(ACTION, "Follow the new checkpoint"),
        BLOCK: Node(ACTION, "Block the channel, and wait"),
        GIVE_UP: Node(ACTION, "Give up, unblock, tell downstream"),
        **LAST,
        UNBLOCK: Node(ACTION, "Unblock all channels"),
    },
    (
        *WAYS,
        Way(OLD, SAME, NO),
        Way(SAME, ALL, YES),
        Way(SAME, UNDER_WAY, NO),
        Way(UNDER_WAY, DROP, YES),
        Way(UNDER_WAY, FOLLOW, NO),
        Way(DROP, FOLLOW),
        Way(FOLLOW, ALL),
        Way(ALL, BLOCK, NO),
        Way(OFF, GIVE_UP, YES),
        Way(CANCEL, GIVE_UP),
        Way(SNAPSHOT, UNBLOCK),
    ),
)
TRACKER = Chart(
    "Tracker",
    {
        **ENTRIES,
        **QUESTIONS,
        PENDING: Node(DECISION, "Is it counted already?"),
        BEGIN: Node(ACTION, "Begin to count it"),
        MANY: Node(DECISION, f"Are more than {MOST_PENDING} pending?"),
        DROP_OLDEST: Node(ACTION, "Drop the oldest"),
        COUNT: Node(ACTION, "Count the barrier, block nothing"),
        WAIT: Node(ACTION, "Go on with the records"),
        NOTIFY: Node(ACTION, "Take no snapshot, tell downstream"),
        **LAST,
        FORGET: Node(ACTION, "Drop it and all older pending ones"),
    },
    (
        *WAYS,
        Way(OLD, PENDING, NO),
        Way(PENDING, COUNT, YES),
        Way(PENDING, BEGIN, NO),
        Way(BEGIN, MANY),
        Way(MANY, DROP_OLDEST, YES),
        Way(MANY, COUNT, NO),
        Way(DROP_OLDEST, COUNT),
        Way(COUNT, ALL),
        Way(ALL, WAIT, NO),
        Way(OFF, NOTIFY, YES),
        Way(CANCEL, NOTIFY),
        Way(NOTIFY, FORGET),
        Way(SNAPSHOT, FORGET),
    ),
)
