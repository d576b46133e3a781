"""What Spark says of state that it cannot read becomes a sentence for people."""

from pathlib import Path

import pytest

from tasks.spark.engine_state.failures import NO_REASON, plain

FOLDER = Path("/data/tmp/spark-state-x1/checkpoint")


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("file:/data/tmp/spark-state-x1/checkpoint/state/0/0/1.delta is short",
         "state/0/0/1.delta is short"),
        ("Corrupted block: LZ4  The file /tmp/a1/tmp/spark-7/000008.sst may be corrupted.",
         "Corrupted block: LZ4  The file 000008.sst may be corrupted."),
        ("Error in file:///opt/x/y/z.sst, block 3\n\tat org.rocksdb", "Error in z.sst, block 3"),
        ("bad entry in block", "bad entry in block"),
        ("ratio of 3/4 and a/b is odd", "ratio of 3/4 and a/b is odd"),
        ("None", NO_REASON),
        ("-16777150", NO_REASON),
        ("", NO_REASON),
    ],
)  # fmt: skip
def test_messages_lose_the_places_of_this_machine_and_keep_their_words(message, told):
    assert plain(message, FOLDER) == told
