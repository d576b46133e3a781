"""Tours of dataflows under barriers. Times as in domain/dataflows/samples.py, in microseconds."""

from snapshots.guides.step import STATES, Guide, Step

SMALLEST = Guide(
    "smallest-dataflow",
    "What a checkpoint is, with one source and one task that dies: what goes back, and why it "
    "counts right.",
    (
        Step(
            "A source and a task",
            "In a dataflow records run from a source through tasks. Here the source reads one "
            "record a millisecond and sends it to the task: a user, and the time they stayed, "
            "always 1,000. The task keeps two numbers: how many users, and the sum of their times. "
            "Both forget all when they die. A checkpoint has to hold what they need to go on.",
            {"t": "50000", "snapshot": "1"},
            look=STATES,
        ),
        Step(
            "The coordinator asks for a checkpoint",
            "The coordinator, a part of the engine, triggers checkpoint 1; above the picture it is "
            "snapshot 1. The source records its offset, 101: the number of the record that it "
            "reads next. Behind record 100 it sends a barrier (the orange diamond). That is what "
            "Chandy and Lamport call a marker.",
            {
                "t": "100604",
                "from": "99900",
                "to": "101600",
                "snapshot": "1",
                "channel": "source[0]->task[0]",
            },
        ),
        Step(
            "The barrier reaches the task",
            "Record 100 came before the barrier, record 101 comes behind it. The task records 100 "
            "users and the sum 100,000. Offset 101 and 100 users belong together, although they "
            "were written down at two moments.",
            {"t": "100608", "from": "99900", "to": "101600", "snapshot": "1"},
            (
                ("What the checkpoint holds", "snapshots/1"),
                ("Where its time went", "checkpoints?checkpoint=1"),
            ),
            look=STATES,
        ),
        Step(
            "The task dies",
            "At 120.35 ms the task dies, while it works on record 120. It had counted 119 users. "
            "The 19 since the checkpoint are gone.",
            {"t": "120350", "from": "117000", "to": "136000", "snapshot": "1"},
            look=STATES,
        ),
        Step(
            "Both go back",
            "10 ms later both are restored from the checkpoint: the task has 100 users again, and "
            "the source reads on at 101. If only the task went back, records 101 to 119 would be "
            "missing. Record 120, which was in the channel, is thrown away: it will be read again.",
            {"t": "130350", "from": "117000", "to": "136000", "snapshot": "1"},
            look=STATES,
        ),
        Step(
            "As if nothing had happened",
            "Records 101 to 120 are read a second time, into a task that has not seen them. In the "
            "end it has counted 200 users and 200,000, as without a failure. Each record is in the "
            "state exactly once, though 20 of them were read twice.",
            {"t": "200376", "snapshot": "1"},
            (("What was repeated", "checkpoints"),),
            look=STATES,
        ),
    ),
    ("source, sink", "offset", "checkpoint", "barrier", "restore", "exactly once"),
)

PRESSURE = Guide(
    "back-pressure",
    "One slow task makes a checkpoint slow. What alignment is, and how to see who held it up.",
    (
        Step(
            "One counter is slow",
            "Two sources feed two counters, and these feed two sinks, which write the results. "
            "count[0] and count[1] are subtasks: copies of one task, which share its work by the "
            "key of a record. count[1] is four times as slow. So its channels fill up to 12 "
            "records, and who wants to put in another has to wait: back pressure.",
            {
                "t": "24000",
                "from": "0",
                "to": "60000",
                "snapshot": "1",
                "channel": "source[1]->count[1]",
            },
        ),
        Step(
            "The barrier waits its turn",
            "At 25 ms checkpoint 1 is triggered, and the sources send barriers. count[0] has its "
            "two within a millisecond. Those to count[1] have to queue: one behind 8 records, the "
            "other behind 12.",
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
            "At 46.9 ms count[1] gets the barrier of source[0]; that of source[1] still queues. "
            "What comes behind the first barrier is not part of this checkpoint, so it must not "
            "get into the state of count[1] yet. Therefore count[1] blocks that channel (the "
            "bar in its lane) until the second barrier is there. That is alignment.",
            {
                "t": "47500",
                "from": "24000",
                "to": "56000",
                "snapshot": "1",
                "channel": "source[0]->count[1]",
            },
        ),
        Step(
            "Everyone behind it waits as well",
            "At 51.2 ms the second barrier comes, count[1] records and sends barriers on. The "
            "sinks have been aligning all the time, hence their long bars: they got the barrier of "
            "count[0] at 26 ms, and that of count[1] only now.",
            {"t": "51400", "from": "24000", "to": "56000", "snapshot": "1"},
            look=STATES,
        ),
        Step(
            "28.8 ms instead of 3",
            "At 53.8 ms all have stored their states, and the checkpoint is complete: 28.8 ms "
            "after its trigger. For 26 of these count[1] waited for barriers behind records; "
            "without back pressure it takes less than 3. The recorded channels are empty, for all "
            "that was in front of the barriers has been processed.",
            {"t": "53771", "from": "24000", "to": "56000", "snapshot": "1"},
            (("Who held it up: the critical path", "checkpoints?checkpoint=1"),),
        ),
    ),
    ("source, sink", "subtask", "back pressure", "barrier", "alignment", "critical path"),
)

OVERTAKING = Guide(
    "overtaking-barriers",
    "The same slow task, and a quick checkpoint: barriers jump the queue, and the checkpoint keeps "
    "what they jumped over.",
    (
        Step(
            "The same dataflow, the same slow counter",
            "As in the tour before, count[1] is slow and its channels are full. There the "
            "checkpoint took 28.8 ms, because barriers queued behind records. Here it is "
            "unaligned: a barrier may jump the queue.",
            {
                "t": "24000",
                "from": "0",
                "to": "60000",
                "snapshot": "1",
                "channel": "source[1]->count[1]",
            },
        ),
        Step(
            "The barrier overtakes",
            "At 25.2 ms the barriers leave the sources and pass the records that queue. At 26.9 ms "
            "the first of them reaches count[1], and it records at once. 19 records that were sent "
            "before the barriers are still in its channels. It blocks nothing.",
            {
                "t": "26950",
                "from": "24000",
                "to": "31000",
                "snapshot": "1",
                "channel": "source[1]->count[1]",
            },
        ),
        Step(
            "What was overtaken belongs to the checkpoint",
            "A record that a barrier jumped over was sent before its sender recorded, and is "
            "processed after its receiver recorded: it was in flight. So the checkpoint keeps it, "
            "as channel state: 21 records in four channels. What was recorded and what the log "
            "says agree.",
            {
                "t": "28000",
                "from": "24000",
                "to": "31000",
                "snapshot": "1",
                "channel": "source[1]->count[1]",
            },
            (("The contents of all channels", "snapshots/1"),),
        ),
        Step(
            "The price",
            "The checkpoint is complete 4.3 ms after its trigger, not 28.8. But it is larger. "
            "After a failure these 21 records are put back into the channels, and processed before "
            "anything new.",
            {"t": "29319", "from": "24000", "to": "31000", "snapshot": "1"},
            (("4.3 ms, and where they went", "checkpoints?checkpoint=1"),),
            look=STATES,
        ),
    ),
    ("barrier", "unaligned", "channel state", "restore"),
)

TWICE = Guide(
    "counted-twice",
    "The same dataflow without alignment: no one waits, and after a failure some records count "
    "twice.",
    (
        Step(
            "At least once",
            "Here no channel is ever blocked. A counter that has got one barrier goes on with what "
            "comes behind it, and records when the last barrier is there. That saves the waiting. "
            "The next steps show what it costs.",
            {"t": "24000", "from": "0", "to": "60000", "snapshot": "1"},
            look=STATES,
        ),
        Step(
            "Too much in the state",
            "At 46.3 ms count[1] gets the barrier of source[0], and goes on. When it records at "
            "52.8 ms, its state holds three records from behind that barrier. But source[0] "
            "recorded them as not read yet. The verdict calls each an orphan (dashed): "
            "received inside the cut, sent outside it. Between counters and sinks are 21 more.",
            {"t": "53011", "from": "24000", "to": "56000", "snapshot": "1"},
            (("The orphans", "snapshots/1"),),
            look=STATES,
        ),
        Step(
            "count[0] dies",
            "At 70 ms. Checkpoint 2 was under way and is given up. At 80 ms all are restored from "
            "checkpoint 1 (green triangles), and the sources read on from its offsets. So they "
            "read the orphans a second time.",
            {"t": "80000", "from": "60000", "to": "95000", "snapshot": "1"},
            look=STATES,
        ),
        Step(
            "Counted twice",
            "In the end the counters have counted 183 records, and there are 180: the three "
            "orphans of count[1] count twice. The sinks show 24 results twice. Nothing is lost, "
            "and more is not promised: at least once.",
            {"t": "170775", "snapshot": "1"},
            (("What was repeated, at each sink", "checkpoints"),),
            look=STATES,
        ),
    ),
    ("barrier", "alignment", "consistent", "at least once"),
)

GUIDES = (SMALLEST, PRESSURE, OVERTAKING, TWICE)
