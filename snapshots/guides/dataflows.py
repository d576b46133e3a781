"""Tours of dataflows under checkpoints. Times as in domain/dataflows/samples.py."""

from snapshots.guides.step import Guide, Step

SMALLEST = Guide(
    "smallest-dataflow",
    (
        Step(
            "A source and a task",
            "The source reads one visit a millisecond and hands it to the task, which keeps two "
            "numbers: how many users it has seen, and their total time. Both forget everything "
            "when they die. A checkpoint has to hold what they need to go on.",
            {"t": "50000", "from": "0", "to": "200376"},
        ),
        Step(
            "The coordinator asks for a checkpoint",
            "The coordinator triggers checkpoint 1 at the source. The source writes down where it "
            "will read on, 101, and puts a barrier behind record 100: that is the marker of "
            "Chandy and Lamport under another name.",
            {"t": "100600", "from": "98500", "to": "104000", "event": "201@source[0]"},
        ),
        Step(
            "The barrier reaches the task",
            "Record 100 is in, 101 is not: the barrier stands between them. The task records 100 "
            "users and 100,000. The two records belong together, offset 101 and 100 users, "
            "although they were made at different moments.",
            {"t": "100608", "from": "98500", "to": "104000", "event": "103@task[0]"},
            (
                ("What the checkpoint holds", "snapshots/1"),
                ("Where its time went", "checkpoints?checkpoint=1"),
            ),
        ),
        Step(
            "The task dies",
            "With record 120 in its hands. What it had counted since the checkpoint is gone.",
            {"t": "120350", "from": "117000", "to": "136000", "event": "126@task[0]"},
        ),
        Step(
            "Both go back",
            "Not only the task: the source goes back to 101 as well, or the records since then "
            "would be missing. What was in the channel is thrown away, because it will be read "
            "again.",
            {"t": "130350", "from": "117000", "to": "136000", "event": "129@task[0]"},
        ),
        Step(
            "As if nothing had happened",
            "Records 101 to 120 are read a second time, into a task that has not seen them. In the "
            "end it has counted 200 users, as in the run without a failure: each record exactly "
            "once in the state, though some of them twice on the way.",
            {"t": "200376", "from": "0", "to": "200376", "process": "task[0]"},
            (("What was repeated", "checkpoints"),),
        ),
    ),
    ("barrier", "checkpoint", "exactly once"),
)

PRESSURE = Guide(
    "back-pressure",
    (
        Step(
            "One counter is slow",
            "Two sources feed two counters, which feed two sinks. count[1] takes four times as "
            "long as count[0], so the channels to it are full, and whoever wants to put something "
            "into them has to wait: back pressure.",
            {"t": "24000", "from": "0", "to": "60000"},
        ),
        Step(
            "The barrier waits its turn",
            "Checkpoint 1 begins at 25 ms. The barrier to count[0] arrives at once; the one to "
            "count[1] stands behind a dozen records in each full channel.",
            {
                "t": "26000",
                "from": "24000",
                "to": "56000",
                "snapshot": "1",
                "channel": "source[1]->count[1]",
            },
        ),
        Step(
            "Blocked on purpose",
            "At 46.8 ms count[1] gets the barrier from source[0], but not yet the one from "
            "source[1]. It must not touch what comes behind the first, or its state would hold "
            "records that the checkpoint of the source does not: so the channel is blocked until "
            "the second barrier is there. That is alignment.",
            {
                "t": "47500",
                "from": "24000",
                "to": "56000",
                "snapshot": "1",
                "channel": "source[0]->count[1]",
            },
        ),
        Step(
            "28.8 ms instead of 3",
            "Nearly all of that is waiting behind records. The channels themselves are empty in "
            "the checkpoint: everything before the barriers was processed first.",
            {"t": "53771", "from": "24000", "to": "56000", "snapshot": "1"},
            (("The critical path", "checkpoints?checkpoint=1"),),
        ),
    ),
    ("barrier", "alignment", "back pressure"),
)

OVERTAKING = Guide(
    "overtaking-barriers",
    (
        Step(
            "The same dataflow, the same slow counter",
            "Unaligned checkpoints let the barrier jump the queue.",
            {"t": "24000", "from": "0", "to": "60000"},
        ),
        Step(
            "The barrier overtakes",
            "At 25 ms the barriers leave the sources ahead of the records that wait in their "
            "buffers. count[1] records its state at once, with records still before it in the "
            "channels. Nothing is blocked.",
            {"t": "26500", "from": "24000", "to": "31000", "snapshot": "1"},
        ),
        Step(
            "What was overtaken belongs to the checkpoint",
            "A record that the barrier jumped over was sent before the checkpoint and is processed "
            "after it: it was in flight. So it is kept as channel state, 21 records in four "
            "channels. Recorded and recomputed agree.",
            {
                "t": "28000",
                "from": "24000",
                "to": "31000",
                "snapshot": "1",
                "channel": "source[1]->count[1]",
            },
            (
                ("The contents of all channels", "snapshots/1"),
                ("4.3 ms, and where they went", "checkpoints?checkpoint=1"),
            ),
        ),
        Step(
            "The price",
            "The checkpoint is quick even under back pressure, but larger: after a failure those "
            "records are put back into the channels and processed before anything new.",
            {"t": "50500", "snapshot": "2"},
        ),
    ),
    ("barrier", "channel state"),
)

TWICE = Guide(
    "counted-twice",
    (
        Step(
            "At least once",
            "Here no channel waits for a barrier: counters go on with what comes behind an early "
            "one, and record when the last barrier has arrived. Quick, and good enough for some.",
            {"t": "24000", "from": "0", "to": "60000"},
        ),
        Step(
            "Too much in the state",
            "While count[1] waits for the second barrier, it counts records behind the first. The "
            "source’s offset says that they have not been read; the counter’s state holds "
            "them. The verdict names each as an orphan: its effect is inside the cut, its cause "
            "outside.",
            {"t": "50000", "from": "24000", "to": "56000", "snapshot": "1"},
            (("The orphans", "snapshots/1"),),
        ),
        Step(
            "count[0] dies",
            "At 70 ms. Everything goes back to checkpoint 1, and the sources read again from its "
            "offsets: the orphans among them, for a second time.",
            {"t": "70000", "from": "60000", "to": "95000", "event": "155@count[0]"},
        ),
        Step(
            "Counted twice",
            "Nothing is lost, that is the promise; but what lay behind the early barrier is in the "
            "state twice, and in the output of the sinks.",
            {"t": "82000", "from": "60000", "to": "95000", "process": "count[1]"},
            (("What was repeated, at each sink", "checkpoints"),),
        ),
    ),
    ("barrier", "at least once"),
)

SPLITS = Guide(
    "splits-change-hands",
    (
        Step(
            "Someone hands out the work",
            "In SeaTunnel an enumerator owns the pieces of the input, the splits, and hands them "
            "to readers. The job was stopped when it had three readers and goes on with two: the "
            "third split, orders[2], came back to the enumerator and goes to another reader.",
            {"t": "2000", "from": "0", "to": "20000", "event": "6@orders.enumerator"},
        ),
        Step(
            "The checkpoint begins with the enumerator",
            "It records which splits it still holds, here none, and sends the barrier to the "
            "readers in one step. So every split is in exactly one place: given out before, it "
            "is in a reader’s state; given out later, in the enumerator’s.",
            {"t": "15300", "from": "14500", "to": "18500", "event": "8@orders.enumerator"},
        ),
        Step(
            "Readers, counters, writers, committer",
            "Each reader records its splits with their offsets. A writer first makes ready what "
            "it has written, then records. The committer gets a barrier from every writer and "
            "holds what is to be published.",
            {"t": "16500", "from": "14500", "to": "18500", "snapshot": "3"},
            (
                ("What everyone recorded", "snapshots/3"),
                ("Where its time went", "checkpoints?checkpoint=3"),
            ),
        ),
        Step(
            "Published only then",
            "Only when all have acknowledged and the checkpoint is stored, the committer publishes "
            "the files. If anyone dies before, they are not seen.",
            {"t": "17900", "from": "14500", "to": "18500", "process": "files.committer"},
        ),
        Step(
            "A writer dies",
            "The whole pipeline goes back to checkpoint 3; another pipeline would go on. The "
            "splits return to the enumerator and are handed out again, from the recorded offsets.",
            {"t": "35000", "from": "22000", "to": "50000", "event": "13@orders.enumerator"},
            (("What was repeated", "checkpoints"),),
        ),
    ),
    ("checkpoint", "exactly once"),
)

BATCHES = Guide(
    "uncommitted-batch",
    (
        Step(
            "No barriers: batches",
            "Spark cuts the input into batches. First the driver (here the coordinator) writes "
            "down which offsets come next. Only then are they read.",
            {"t": "20000", "from": "18000", "to": "50000", "event": "0@coordinator"},
        ),
        Step(
            "Between two batches nothing is on the way",
            "A batch runs until all channels are empty, the sinks have it, and the driver notes "
            "that it is done. There the snapshot lies: the cut runs between two batches, and "
            "every channel in it is empty.",
            {"t": "27773", "from": "18000", "to": "50000", "snapshot": "0"},
            (("The snapshot of batch 0", "snapshots/0"),),
        ),
        Step(
            "It dies at the worst moment",
            "Batch 2 has reached both sinks, and the driver dies before it notes so. Planned and "
            "not committed: nobody can know whether it was delivered.",
            {"t": "66500", "from": "58000", "to": "90000", "event": "16@coordinator"},
        ),
        Step(
            "The same batch again",
            "After the restart the plan of batch 2 is there, its commit is not. So the same "
            "offsets run again, under the same number, from the state of batch 1.",
            {"t": "76500", "from": "58000", "to": "90000", "event": "17@coordinator"},
        ),
        Step(
            "What the number is good for",
            "The sink table remembers the number of the last batch and takes batch 2 only once. "
            "The sink lines just appends: it has those 40 lines twice. The state is exact; "
            "whether the output is depends on the sink.",
            {"t": "83939", "from": "58000", "to": "90000", "snapshot": "2"},
            (("What was repeated, at each sink", "checkpoints"),),
        ),
    ),
    ("checkpoint", "exactly once", "at least once"),
)

GUIDES = (SMALLEST, PRESSURE, OVERTAKING, TWICE, SPLITS, BATCHES)
