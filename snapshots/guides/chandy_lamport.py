"""Tours of the paper's own examples. Times are microseconds, as in domain/samples.py."""

from snapshots.guides.step import Guide, Step

TWO_BANKS = Guide(
    "two-banks",
    (
        Step(
            "Two banks, and money between them",
            "Each lane is a process, time runs to the right, and each line is a message: a "
            "transfer that leaves one bank and arrives at the other later. A holds 10,000, B "
            "5,000. How much money is there in all? Asking each bank at its own moment can miss "
            "what is under way, or count it twice.",
            {"t": "1000"},
        ),
        Step(
            "A begins the snapshot",
            "A has sent 1,000 (it is on its way, B will get it in a moment). Now A writes down its "
            "own balance, 9,000, and at once sends a marker on its channel to B, before anything "
            "else. That is the marker-sending rule. A goes on working: nothing is ever stopped.",
            {"t": "2950", "event": "2@A"},
        ),
        Step(
            "B works on, unaware",
            "B does not know of the snapshot yet. It sends 1,000 and 2,000 to A. From A’s point of "
            "view they come after it wrote down its balance, so A notes everything that arrives on "
            "the channel from B from now on.",
            {"t": "4700"},
        ),
        Step(
            "The marker reaches B",
            "On a FIFO channel the marker separates what A sent before it recorded from what A "
            "sends after. B got the first 1,000 before the marker, so B’s balance already "
            "holds it. B records 3,000, records the channel from A as empty, and sends its own "
            "marker back. That is the marker-receiving rule.",
            {"t": "5250", "event": "4@B"},
        ),
        Step(
            "What was in the channel",
            "The two transfers reach A after A recorded, but before B’s marker: they were in the "
            "channel. When the marker arrives, A is done: the channel from B held 1,000 and "
            "2,000. Look at Channel contents: recorded and recomputed from the log say the same.",
            {"t": "7400", "channel": "B->A"},
        ),
        Step(
            "It adds up",
            "9,000 at A, 3,000 at B, 3,000 on the way: 15,000, as at the start. The blue line is "
            "the cut: everything left of it is in the snapshot. No message crosses it from right "
            "to left, and that is what consistent means. Drag the cut (key c) and see what "
            "breaks it.",
            {"t": "7400", "snapshot": "s1"},
            (("The snapshot’s page", "snapshots/s1"), ("Theorem 1", "proof?snapshot=s1")),
        ),
    ),
    ("marker", "cut", "consistent", "channel state"),
)

ONE_TOKEN = Guide(
    "one-token",
    (
        Step(
            "One token",
            "Example 2.1 of the paper: p and q pass one token back and forth over the channels c "
            "and c'. At any moment the token is at p, at q, or in a channel; never twice, never "
            "nowhere. A snapshot has to say the same.",
            {"t": "0"},
        ),
        Step(
            "p records while the token is in c",
            "p has just sent the token. It records its state, 0, and sends a marker behind the "
            "token. Because channels keep the order, the marker cannot pass the token.",
            {"t": "1650", "event": "1@p"},
        ),
        Step(
            "q gets the token, and passes it on",
            "The token reaches q before the marker does, and q sends it back into c' before it "
            "has heard of any snapshot.",
            {"t": "4300"},
        ),
        Step(
            "The token is found in c', once",
            "When the marker comes, q records 0 and c as empty. Then p finds the token in c' "
            "before q’s marker. So the snapshot holds one token, although it was never taken at "
            "one instant.",
            {"t": "7000", "snapshot": "s1", "channel": "c'"},
            (("Ask for the token", "properties?property=token"),),
        ),
    ),
    ("marker", "channel state"),
)

TWO_TOKENS = Guide(
    "two-tokens",
    (
        Step(
            "Recording without rules",
            "Section 3.1 of the paper: each part is recorded correctly, but at moments that do not "
            "belong together. p is recorded first, while it holds the token.",
            {"t": "800", "event": "0@p"},
        ),
        Step(
            "A moment later the channel",
            "p sends the token into c, and only then c is recorded, with the token in it. Each "
            "record is true. Together they show two tokens where there is one.",
            {"t": "2200", "channel": "c"},
        ),
        Step(
            "The verdict names the message",
            "The channel’s record holds t1, which p sent after p was recorded. A marker on c, "
            "sent when p recorded, would have told: everything behind it is too late for this "
            "snapshot.",
            {"t": "2200", "snapshot": "s1", "message": "t1@c"},
            (("The witness", "snapshots/s1"),),
        ),
    ),
    ("consistent", "marker"),
)

NO_TOKEN = Guide(
    "no-token",
    (
        Step(
            "The other mistake",
            "Here the channel c is recorded first, while the token is still at p: it is empty.",
            {"t": "800", "channel": "c"},
        ),
        Step(
            "Then p, when the token has left",
            "p sends the token and is recorded afterwards, with nothing in hand. Nobody’s record "
            "holds the token: after a restore it would be gone.",
            {"t": "2200", "event": "1@p"},
        ),
        Step(
            "Lost",
            "The log shows that t1 was sent before p recorded and received after q did: it was in "
            "flight, so the channel’s state has to hold it. The verdict lost names it.",
            {"t": "2200", "snapshot": "s1", "message": "t1@c"},
            (("The witness", "snapshots/s1"),),
        ),
    ),
    ("channel state",),
)

NEVER_OCCURRED = Guide(
    "never-occurred",
    (
        Step(
            "A state that never was",
            "Examples 2.2 and 4.1 of the paper. p goes from A to B by sending M and back to A by "
            "receiving M'; q goes from C to D by sending M' and back by receiving M.",
            {"t": "0"},
        ),
        Step(
            "p records A, before it sends M",
            "p records its state A at the very beginning and sends the marker, then M behind it.",
            {"t": "600", "event": "0@p"},
        ),
        Step(
            "q records D, much later",
            "When the marker reaches q, q has sent M' and is in D. p, meanwhile, has been in B and "
            "is in A again. The snapshot: p in A, q in D, M' under way to p.",
            {"t": "4100", "snapshot": "s1"},
        ),
        Step(
            "Was it ever so?",
            "Move the cursor through the run: whenever q is in D and M' is under way, p is in B. "
            "The recorded state never occurred. And yet nothing is wrong: sending M and sending M' "
            "do not depend on each other, so they could have happened the other way round. In that "
            "order the system passes through exactly this state. That is Theorem 1.",
            {"t": "2600", "snapshot": "s1"},
            (("See the other order", "proof?snapshot=s1"),),
        ),
    ),
    ("prerecording", "Theorem 1"),
)

FIFTY = Guide(
    "fifty-processes",
    (
        Step(
            "Fifty banks at once",
            "About 4,000 transfers between fifty banks, and five snapshots. The picture is zoomed "
            "out: zoom with the wheel or the keys w and s until single messages appear.",
            {"snapshot": "s1"},
        ),
        Step(
            "One initiator",
            "p7 begins s1. Its marker travels along every channel that it has, and each bank that "
            "gets a first marker records and passes markers on. The wave takes about 20 ms to "
            "reach everyone; the cut is a slanted line.",
            {"snapshot": "s1", "from": "19000", "to": "41000", "t": "24000"},
        ),
        Step(
            "Several initiators, several snapshots",
            "s2 is begun by p31 and p40 together, while s1 is still under way. Every marker bears "
            "the name of its snapshot, so they do not mix. With several initiators of one snapshot "
            "a bank simply takes the first marker that comes.",
            {"snapshot": "s2", "from": "19000", "to": "41000", "t": "24000"},
        ),
        Step(
            "Every one adds up",
            "Dozens of transfers are in flight in each snapshot, and with them every one holds "
            "50,000, as at the start. Without the channels each would be too low.",
            {"snapshot": "s3"},
            (("The sum, in every snapshot", "properties?property=conservation"),),
        ),
    ),
    ("marker", "initiator"),
)

GUIDES = (TWO_BANKS, ONE_TOKEN, TWO_TOKENS, NO_TOKEN, NEVER_OCCURRED, FIFTY)
