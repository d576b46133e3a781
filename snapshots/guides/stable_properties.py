"""Tours of stable properties (section 5 of the paper). Times as in domain/samples.py."""

from snapshots.guides.step import Guide, Step

TERMINATES = Guide(
    "terminates",
    (
        Step(
            "Who works, and who only seems to be done",
            "Four processes share out work. One that has none left sleeps, but any message that "
            "brings work wakes it. So seeing every process asleep, one after the other, proves "
            "nothing: work may be on its way.",
            {"t": "10000"},
        ),
        Step(
            "All asleep, and yet not the end",
            "In s3 all four processes are recorded as not active. But the channel from p1 to p3 "
            "holds a message with work. Only a snapshot that looks into the channels sees it.",
            {"snapshot": "s3", "channel": "p1->p3"},
        ),
        Step(
            "Now it has ended",
            "In s4 nobody is active and every channel is empty. Nothing can ever happen again: "
            "termination is stable. True in the recorded state, so it is true when the snapshot is "
            "complete and for ever after.",
            {"snapshot": "s4"},
            (("Termination in every snapshot", "properties?property=termination"),),
        ),
    ),
    ("stable property", "channel state"),
)

DEADLOCK = Guide(
    "deadlock",
    (
        Step(
            "Four philosophers, four forks",
            "Each holds one fork, asks the neighbour for theirs, and lets go of nothing while "
            "waiting. The state shows who waits for whom.",
            {"t": "9000"},
        ),
        Step(
            "Three wait in a row",
            "In s3 Hume waits for Kant, Kant for Mill, Zeno for Hume; Mill waits for nobody. That "
            "is a chain and not a circle: Mill can still give, and the chain dissolves.",
            {"snapshot": "s3"},
        ),
        Step(
            "The circle closes",
            "In s4 Mill waits for Zeno as well: Hume, Kant, Mill, Zeno, Hume. One of the requests "
            "is still in a channel, and that changes nothing: who waits grants nothing. A grant "
            "under way would have broken the circle; there is none.",
            {"snapshot": "s4", "channel": "Kant->Mill"},
            (("Deadlock in every snapshot", "properties?property=deadlock"),),
        ),
        Step(
            "What false would mean",
            "False in s3 means that there was no deadlock when s3 began. It does not say that "
            "there is none when s3 ends: the circle could have closed meanwhile. The paper says no "
            "more, and neither do we.",
            {"snapshot": "s3"},
        ),
    ),
    ("stable property",),
)

TOKEN_LOST = Guide(
    "token-lost",
    (
        Step(
            "The right to act",
            "Three processes pass one token around; who holds it may act alone. A process that "
            "does not see the token cannot know whether it is lost or just somewhere else.",
            {"t": "15000", "snapshot": "s1"},
        ),
        Step(
            "In a channel is not lost",
            "In s2 no process holds the token; the channel from p1 to p2 does. A check that asks "
            "only processes would raise the alarm for nothing.",
            {"snapshot": "s2", "channel": "p1->p2"},
        ),
        Step(
            "Here it vanishes",
            "p1 drops the token, between s3 and s4. Nobody notices.",
            {"t": "56359", "event": "20@p1"},
        ),
        Step(
            "Found nowhere",
            "s4 counts none in the processes and none in the channels. As no one makes a new one, "
            "it stays so: a stable property, and the snapshot has proved it while everything ran.",
            {"snapshot": "s4"},
            (("Count it in every snapshot", "properties?property=token"),),
        ),
    ),
    ("stable property", "channel state"),
)

TOKEN_COPIED = Guide(
    "token-copied",
    (
        Step(
            "One token, until",
            "The same ring. s1 to s3 find one token each.",
            {"snapshot": "s3"},
        ),
        Step(
            "p1 keeps what it passes on",
            "As a message that is sent twice would, this leaves two tokens. From now on two "
            "processes may believe that they act alone.",
            {"t": "56359", "event": "20@p1"},
        ),
        Step(
            "Two",
            "s4 finds two in the channel from p3 to p1, s5 one in a process and one in a channel, "
            "s6 two at p2. Wherever they are, the count over processes and channels is two.",
            {"snapshot": "s4", "channel": "p3->p1"},
            (("Count them in every snapshot", "properties?property=token"),),
        ),
    ),
    ("stable property",),
)

GUIDES = (TERMINATES, DEADLOCK, TOKEN_LOST, TOKEN_COPIED)
