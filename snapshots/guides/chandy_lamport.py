"""Tours of the paper's own examples. Times are microseconds, as in domain/samples.py."""

from snapshots.guides.step import STATES, Guide, Step

TWO_BANKS = Guide(
    "two-banks",
    "How a snapshot finds all the money of two banks, some of it on its way, and stops neither of "
    "them. Begin here.",
    (
        Step(
            "Two banks, and money between them",
            "A and B are banks. Each has a lane, and time runs to the right. A line between the "
            "lanes is a transfer: it leaves one bank and reaches the other later. The black line "
            "is now; what is pale is still to come. A holds 10,000 and B 5,000, in all 15,000. A "
            "snapshot has to find this sum while the banks work on.",
            {"t": "1000", "snapshot": "s1"},
            look=STATES,
        ),
        Step(
            "Why not just ask each bank?",
            "Now 1,000 are on their way from A to B, in the channel A->B. The banks alone hold "
            "14,000. And who asks A before it sends the 1,000, and B after it has got them, counts "
            "them twice. So there have to be rules for when each bank is asked, and the channels "
            "have to be asked too.",
            {"t": "2500", "snapshot": "s1", "channel": "A->B"},
        ),
        Step(
            "A begins the snapshot",
            "A writes down its balance, 9,000: it records its state (the green square). At once, "
            "before any other message, it sends a marker to B (orange). These two acts are the "
            "marker-sending rule. A is the initiator. It works on: nothing is ever stopped.",
            {"t": "2950", "snapshot": "s1"},
            look=STATES,
        ),
        Step(
            "B works on, unaware",
            "B has not heard of the snapshot. It has got the first 1,000, and has sent 1,000 and "
            "then 2,000 to A. Since A recorded, A also notes every message that comes in from B. "
            "So far none has.",
            {"t": "4700", "snapshot": "s1", "channel": "B->A"},
        ),
        Step(
            "The marker reaches B",
            "The channel is FIFO: messages arrive in the order in which they were sent. So what A "
            "sent before it recorded has come before the marker, and what comes behind the marker "
            "was sent later. B records its balance, 3,000, and the channel from A as empty, and "
            "sends a marker back. That is the marker-receiving rule.",
            {"t": "5250", "snapshot": "s1"},
            look=STATES,
        ),
        Step(
            "What was in the channel",
            "1,000 and 2,000 came to A after A recorded, and before the marker of B. So B sent "
            "them before B recorded: they were in flight, and they are the state of this channel. "
            "With the marker, A is done. Under Channel contents, “recorded” is what A noted, and "
            "“recomputed” is what the log of all events says. They agree.",
            {"t": "7400", "snapshot": "s1", "channel": "B->A"},
        ),
        Step(
            "It adds up",
            "Recorded are 9,000 at A, 3,000 at B and 3,000 in the channel from B: 15,000, as at "
            "the start. The blue line is the cut; what is left of it is in the snapshot. Messages "
            "may cross it from left to right: they were in flight. None crosses it from right to "
            "left: that would be an effect without its cause. Such a cut is consistent.",
            {"t": "7400", "snapshot": "s1"},
            (("All that s1 recorded", "snapshots/s1"),),
            look=STATES,
        ),
        Step(
            "A cut that is not consistent",
            "Here the cut is pulled to the left at A, to before A sends its first 1,000. Now they "
            "are at A and at B as well, and the sum is 16,000. The dashed line is the message that "
            "shows it: received left of the cut, sent right of it. It is called an orphan. Pull "
            "the handles yourself; the key Esc brings the cut of s1 back.",
            {"t": "7400", "snapshot": "s1", "cut": "1.5"},
            look=STATES,
        ),
    ),
    ("snapshot", "channel", "marker", "initiator", "FIFO", "channel state", "cut", "consistent"),
)

ONE_TOKEN = Guide(
    "one-token",
    "One token passes between two processes. A snapshot finds it once, though no one looks "
    "everywhere at one moment.",
    (
        Step(
            "One token",
            "Example 2.1 of the paper. Two processes pass one token to and fro: p sends it to q "
            "over the channel c, and q sends it back over c'. A state, or a message, is the number "
            "of tokens in it. At every moment there is one: at p, at q, or in a channel, as here "
            "in c. A snapshot has to find one as well.",
            {"t": "1000", "snapshot": "s1", "channel": "c"},
        ),
        Step(
            "p records while the token is in c",
            "p has just sent the token. It records its state, 0 tokens, and sends a marker behind "
            "the token. The channel keeps the order, so the marker cannot pass the token.",
            {"t": "1650", "snapshot": "s1", "channel": "c"},
        ),
        Step(
            "q gets the token, and passes it on",
            "The token reaches q before the marker does. q sends it back, into c', and has not "
            "heard of any snapshot yet.",
            {"t": "4300", "snapshot": "s1", "channel": "c'"},
        ),
        Step(
            "The token is found in c', once",
            "At 5 ms the marker reached q: q recorded 0 tokens, and c as empty. Then p found the "
            "token in c', in front of the marker of q. So the snapshot holds the token once, "
            "although no one looked everywhere at one moment.",
            {"t": "7000", "snapshot": "s1", "channel": "c'"},
            (("Is the token lost? Ask the snapshot", "properties?property=token"),),
        ),
    ),
    ("marker", "FIFO", "channel state"),
)

TWO_TOKENS = Guide(
    "two-tokens",
    "Without markers: every part is recorded as it is, and together they show a token too many.",
    (
        Step(
            "Recording without rules",
            "Section 3.1 of the paper. What if all record at moments of their own choice, and send "
            "no markers? p records first, while it holds the token.",
            {"t": "800", "snapshot": "s1"},
            look=STATES,
        ),
        Step(
            "A moment later the channel",
            "p sends the token into c. Only then q records, and with it the channel c, which holds "
            "the token now. Each record is right by itself. Together they hold two tokens, and "
            "there is one.",
            {"t": "2200", "snapshot": "s1", "channel": "c"},
        ),
        Step(
            "The verdict names the message",
            "The line above the picture is the verdict: Cutline compares what was recorded with "
            "the log. It says “duplicated”, and names the witness, the message t1: c was recorded "
            "with it, but p sent it after p had recorded. A marker on c would have told q: what "
            "comes behind me is too late for this snapshot.",
            {"t": "2200", "snapshot": "s1", "message": "t1@c"},
            (("The witness", "snapshots/s1"),),
        ),
    ),
    ("marker", "verdict"),
)

NO_TOKEN = Guide(
    "no-token",
    "The other mistake: every part is recorded as it is, and the token is in none of them.",
    (
        Step(
            "The other mistake",
            "Again there are no markers. This time q records first, and with it the channel c. The "
            "token is still at p, so c is empty.",
            {"t": "800", "snapshot": "s1", "channel": "c"},
        ),
        Step(
            "Then p, when the token has left",
            "p sends the token, and records afterwards: 0 tokens. The token is in no record. A "
            "system that is restored from this snapshot has none.",
            {"t": "2200", "snapshot": "s1"},
            look=STATES,
        ),
        Step(
            "Lost",
            "The message t1 was sent before p recorded, and received after q recorded. So it was "
            "in flight, and the state of c has to hold it. The verdict says “lost” and names it. "
            "To record the channel too late gave a token too many, too early one too few; the two "
            "marker rules exclude both.",
            {"t": "2200", "snapshot": "s1", "message": "t1@c"},
            (("The witness", "snapshots/s1"),),
        ),
    ),
    ("channel state", "verdict"),
)

NEVER_OCCURRED = Guide(
    "never-occurred",
    "A snapshot of a state in which the system never was. Theorem 1 says why it is right all the "
    "same.",
    (
        Step(
            "Two processes with two states each",
            "Examples 2.2 and 4.1 of the paper. p goes from state A to B by sending the message M "
            "over c, and back to A when it receives M'. q goes from C to D by sending M' over c', "
            "and back to C when it receives M.",
            {"t": "500", "snapshot": "s1"},
            look=STATES,
        ),
        Step(
            "p records A, before it sends M",
            "At the very beginning p records its state, A, and sends a marker. Behind the marker "
            "it sends M: now p is in B.",
            {"t": "1300", "snapshot": "s1", "channel": "c"},
            look=STATES,
        ),
        Step(
            "q records D, much later",
            "When the marker reaches q, q has sent M' and is in D. p has meanwhile got M' and is "
            "in A again. The snapshot says: p in A, q in D, c empty, and M' in c'.",
            {"t": "4100", "snapshot": "s1", "channel": "c'"},
        ),
        Step(
            "Was it ever so?",
            "Drag the black line through the run. From 2 ms to 3.2 ms q is in D and M' is in "
            "flight; but all that time p is in B. The recorded state never occurred.",
            {"t": "2600", "snapshot": "s1"},
            look=STATES,
        ),
        Step(
            "But it could have been",
            "p sends M, and q sends M'. Neither needs the other, so M' could as well have been "
            "sent first. Then the system would have passed through the recorded state, and all "
            "processes would have done the same. That there is always such an order is Theorem 1. "
            "On the next page press “Reorder the run”, and watch the events change places.",
            {"t": "2600", "snapshot": "s1"},
            (("See the other order", "proof?snapshot=s1"),),
            look=STATES,
        ),
    ),
    ("global state", "prerecording", "Theorem 1"),
)

FIFTY = Guide(
    "fifty-processes",
    "The same rules with fifty banks, five snapshots, and several of them at once.",
    (
        Step(
            "Fifty banks at once",
            "About 1,200 transfers between fifty banks, and five snapshots. A square is a bank "
            "that records; green ones are of the snapshot that is chosen above, s1. To see single "
            "messages, zoom with the wheel or with the keys w and s.",
            {"t": "35226", "snapshot": "s1"},
        ),
        Step(
            "One initiator",
            "p7 begins s1 at 20 ms, with a marker on each channel that leaves it. A bank that gets "
            "its first marker records, and sends markers on. After 15 ms all have recorded; p21 is "
            "the last. The cut, in blue, is anything but a straight line, and it need not be one.",
            {"t": "24000", "snapshot": "s1", "from": "19000", "to": "41000"},
        ),
        Step(
            "Several initiators, several snapshots",
            "p31 and p40 begin s2 together, while s1 is still under way. Every marker bears the "
            "name of its snapshot, so the two do not mix. Of a snapshot with several initiators a "
            "bank takes the first marker that comes, from whichever of them.",
            {"t": "24000", "snapshot": "s2", "from": "19000", "to": "41000"},
        ),
        Step(
            "Every one adds up",
            "In each snapshot dozens of transfers are in flight, in s3 47. With them each holds "
            "50,000, as at the start. Without the channels each would find too little.",
            {"t": "51134", "snapshot": "s3"},
            (("The sum, in every snapshot", "properties?property=conservation"),),
        ),
    ),
    ("marker", "initiator", "cut", "channel state"),
)

GUIDES = (TWO_BANKS, ONE_TOKEN, TWO_TOKENS, NO_TOKEN, NEVER_OCCURRED, FIFTY)
