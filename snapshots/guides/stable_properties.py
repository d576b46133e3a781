"""Tours of stable properties (section 5 of the paper). Times as in domain/samples.py."""

from snapshots.guides.step import SELECTED, STATES, Guide, Step

TERMINATES = Guide(
    "terminates",
    "Work has ended when all sleep and none is on its way. A snapshot sees both.",
    (
        Step(
            "Who works, and who only seems to be done",
            "Four processes share out work. “active” says whether one works, “left” how much it "
            "still has. Who has none left sleeps, until a message brings more. Here p4 sleeps, and "
            "work is on its way to it. So it proves nothing to find all asleep, one after the "
            "other.",
            {"t": "10000", "snapshot": "s1"},
            look=STATES,
        ),
        Step(
            "All asleep, and yet not the end",
            "In s3 all four are recorded as not active. But the channel from p1 to p3 holds a "
            "message with work. Only a snapshot that looks into the channels sees it.",
            {"t": "32530", "snapshot": "s3", "channel": "p1->p3"},
        ),
        Step(
            "Now it has ended",
            "In s4 nobody is active, and all channels are empty but for markers. No one is left "
            "who could wake anyone: nothing can happen any more. What stays true once it is true "
            "is called a stable property. If it is true in the recorded state, it is true when the "
            "snapshot is complete, and for ever after.",
            {"t": "42026", "snapshot": "s4"},
            (("Termination in every snapshot", "properties?property=termination"),),
            look=STATES,
        ),
    ),
    ("stable property", "channel state"),
)

DEADLOCK = Guide(
    "deadlock",
    "When is waiting a deadlock? When it goes round in a circle, and no grant is on its way.",
    (
        Step(
            "Four philosophers, four forks",
            "Each philosopher holds one fork, now and then asks a neighbour for theirs, and gives "
            "nothing away while waiting. “waits_for” says whose fork one waits for, “asked” who "
            "has asked for one’s own.",
            {"t": "9000", "snapshot": "s1"},
            look=STATES,
        ),
        Step(
            "Three wait in a row",
            "In s3 Hume waits for Kant, Kant for Mill, and Zeno for Hume. Mill waits for nobody: a "
            "chain, not a circle. Mill can give, and at the black line has done so: a grant is on "
            "its way to Kant.",
            {"t": "31899", "snapshot": "s3", "channel": "Mill->Kant"},
        ),
        Step(
            "The circle closes",
            "In s4 Mill waits as well. Hume waits for Kant, Kant for Mill, Mill for Zeno, Zeno for "
            "Hume. The request of Kant is still in a channel. That changes nothing: Mill waits, "
            "and who waits gives nothing. Only a grant on its way could break the circle, and "
            "there is none.",
            {"t": "41369", "snapshot": "s4", "channel": "Kant->Mill"},
            (("Deadlock in every snapshot", "properties?property=deadlock"),),
        ),
        Step(
            "What false means",
            "s3 answers: no deadlock. So there was none when s3 began. But the circle could have "
            "closed while s3 was being taken: of the moment in which s3 is complete it says "
            "nothing. The paper says no more, and neither does Cutline.",
            {"t": "31899", "snapshot": "s3"},
            look=STATES,
        ),
    ),
    ("stable property",),
)

TOKEN_LOST = Guide(
    "token-lost",
    "A token that no one sees may be lost or just elsewhere. A snapshot can tell.",
    (
        Step(
            "The right to act",
            "Three processes pass one token around. Who holds it may do what no two may do at "
            "once. Who does not hold it cannot know whether it is lost or just elsewhere. s1 finds "
            "it at p1.",
            {"t": "15000", "snapshot": "s1"},
            look=STATES,
        ),
        Step(
            "In a channel is not lost",
            "In s2 no process holds the token: it is in the channel from p1 to p2. Who asks the "
            "processes alone raises the alarm for nothing.",
            {"t": "31355", "snapshot": "s2", "channel": "p1->p2"},
        ),
        Step(
            "Here it vanishes",
            "After s3 and before s4, at 56.4 ms, p1 loses the token: the ringed event. Nobody "
            "notices. The bands show which events led to it (blue) and which it can influence "
            "(green).",
            {"t": "56359", "snapshot": "s3", "event": "20@p1"},
            look=SELECTED,
        ),
        Step(
            "Found nowhere",
            "s4 finds no token, neither in the processes nor in the channels. No one makes a new "
            "one, so it stays so: a stable property. The snapshot has proved it, and nothing was "
            "stopped for it.",
            {"t": "69365", "snapshot": "s4"},
            (("Count it in every snapshot", "properties?property=token"),),
            look=STATES,
        ),
    ),
    ("stable property", "channel state", "happened before"),
)

TOKEN_COPIED = Guide(
    "token-copied",
    "Two tokens where there should be one. Who holds one sees nothing wrong; the snapshot does.",
    (
        Step(
            "One token, until now",
            "The ring of the tour before. s1, s2 and s3 find one token each; s3 finds it in the "
            "channel from p2 to p3.",
            {"t": "51880", "snapshot": "s3", "channel": "p2->p3"},
        ),
        Step(
            "p1 makes two of one",
            "At 56.4 ms p1 has two tokens instead of one, as if the message that brought it had "
            "come twice. From now on two processes can believe that they act alone.",
            {"t": "56360", "snapshot": "s3", "event": "20@p1"},
            look=STATES,
        ),
        Step(
            "Two",
            "s4 finds both in the channel from p3 to p1. s5 finds one at p2 and one in the channel "
            "from p1 to p2, s6 both at p2. Wherever they are, processes and channels together hold "
            "two.",
            {"t": "70410", "snapshot": "s4", "channel": "p3->p1"},
            (("Count them in every snapshot", "properties?property=token"),),
        ),
    ),
    ("stable property", "channel state"),
)

GUIDES = (TERMINATES, DEADLOCK, TOKEN_LOST, TOKEN_COPIED)
