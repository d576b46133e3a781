"""Tours of engines that do it their own way: SeaTunnel and Spark. Times in microseconds."""

from snapshots.guides.step import STATES, Guide, Step

SPLITS = Guide(
    "splits-change-hands",
    "SeaTunnel: someone hands out the input, so the checkpoint begins there; and files are "
    "published in two phases.",
    (
        Step(
            "Someone hands out the work",
            "SeaTunnel is an engine that copies data from one system to another. Its input comes "
            "in splits, and a process called the enumerator hands them to readers. The job was "
            "stopped with three readers and goes on with two. All splits came back, each with its "
            "offset. Here they are on their way out again: two to the reader orders[0], one to "
            "orders[1].",
            {
                "t": "20",
                "from": "0",
                "to": "1200",
                "snapshot": "3",
                "channel": "orders.enumerator->orders[0]",
            },
        ),
        Step(
            "The checkpoint begins with the enumerator",
            "Checkpoint 3 begins at 15 ms; 1 and 2 were before the stop. In one step the "
            "enumerator records which splits it still has, here none, and sends barriers to the "
            "readers. So every split is in one place: handed out before, it is in the state of a "
            "reader; handed out later, in that of the enumerator.",
            {"t": "15300", "from": "14500", "to": "18500", "snapshot": "3"},
            look=STATES,
        ),
        Step(
            "Readers, counters, writers, committer",
            "The barriers go on. Readers record their splits and offsets, counters their counts. A "
            "writer, files[0] or files[1], first closes what it has written into a transaction, "
            "which nobody sees yet; then it records. The committer gets a barrier from each writer "
            "and records which transactions wait.",
            {"t": "16500", "from": "14500", "to": "18500", "snapshot": "3"},
            (
                ("What everyone recorded", "snapshots/3"),
                ("Where its time went", "checkpoints?checkpoint=3"),
            ),
            look=STATES,
        ),
        Step(
            "Published only then",
            "At 17.9 ms all have acknowledged, and the checkpoint is stored. Only now, at 18.1 ms, "
            "the committer commits the transactions, and others see what is in them. That is "
            "two-phase commit. If anyone dies before, nobody sees half a result.",
            {
                "t": "18100",
                "from": "14500",
                "to": "18500",
                "snapshot": "3",
                "process": "files.committer",
            },
            look=STATES,
        ),
        Step(
            "A writer dies",
            "At 25 ms files[0] dies. What the writers have written since checkpoint 3 is in "
            "transactions that are not committed: nobody has seen it.",
            {
                "t": "25000",
                "from": "22000",
                "to": "50000",
                "snapshot": "3",
                "process": "files[0]",
            },
            look=STATES,
        ),
        Step(
            "The pipeline goes back",
            "At 35 ms all go back to checkpoint 3, for they are one pipeline: all that is "
            "connected. Another pipeline of the job would go on. The splits are with the "
            "enumerator again, and go out with the recorded offsets. 11 records are read again. "
            "The open transactions were aborted, so nothing is published twice.",
            {
                "t": "35000",
                "from": "22000",
                "to": "50000",
                "snapshot": "3",
                "channel": "orders.enumerator->orders[0]",
            },
            (("What was repeated", "checkpoints"),),
        ),
    ),
    ("split", "offset", "checkpoint", "two-phase commit", "pipeline", "restore"),
)

BATCHES = Guide(
    "uncommitted-batch",
    "Spark has no barriers: it snapshots between two batches. And what a sink has to know to take "
    "a batch only once.",
    (
        Step(
            "No barriers: batches",
            "Spark cuts its input into batches and runs one after the other. First the driver, "
            "here the lane “coordinator”, writes down which records batch 0 has: offsets 1 to 20 "
            "of both sources. That is its plan. Only then they are read.",
            {"t": "20000", "from": "18000", "to": "50000", "snapshot": "0"},
            look=STATES,
        ),
        Step(
            "Between two batches nothing is on the way",
            "The batch runs until all channels are empty and both sinks, “lines” and “table”, have "
            "its results. Then the driver notes that batch 0 is done: its commit. There, between "
            "two batches, lies the snapshot. Every channel in it is empty.",
            {"t": "27773", "from": "18000", "to": "50000", "snapshot": "0"},
            (("The snapshot of batch 0", "snapshots/0"),),
            look=STATES,
        ),
        Step(
            "It dies at the worst moment",
            "Batch 2 has reached both sinks, and the driver dies before it can note so. The batch "
            "is planned and not committed. Who starts the query again cannot know whether the "
            "results were delivered.",
            {"t": "66500", "from": "58000", "to": "90000", "snapshot": "1"},
            look=STATES,
        ),
        Step(
            "The same batch again",
            "10 ms later the query starts again. It finds the plan of batch 2, and no commit. So "
            "the same offsets run again, under the same number, from the state after batch 1.",
            {"t": "76500", "from": "58000", "to": "90000", "snapshot": "1"},
            look=STATES,
        ),
        Step(
            "What the number is good for",
            "The sink “table” knows the number of its last batch, and passes over the second "
            "batch 2. The sink “lines” appends, and shows those 40 results twice. (Its count, "
            "“written”, went back with the state; what it shows did not.) The state is exact. "
            "Whether the output is depends on the sink.",
            {"t": "83939", "from": "58000", "to": "90000", "snapshot": "2"},
            (("What was repeated, at each sink", "checkpoints"),),
            look=STATES,
        ),
    ),
    ("batch", "offset", "exactly once", "idempotent"),
)

GUIDES = (SPLITS, BATCHES)
