"""The defects of all stages of an ingest are counted, and listed in order."""

import pyarrow as pa

from snapshots.domain.model.defects import defect
from snapshots.domain.model.recording import KINDS, RECORD_CHANNEL, RECORD_STATE
from snapshots.domain.model.topology import Channel, Process, Topology
from snapshots.store.layout import RECORD_COLUMNS
from tasks.spark.ingest.all_defects import AllDefects
from tasks.spark.ingest.schemas import ListedDefects


def test_defects_that_a_task_does_not_list_are_counted():
    defects = AllDefects()
    defects.add(ListedDefects((defect("index-gap", "A gap."),), unlisted=4))
    defects.extend([defect("index-gap", "Another one.")])
    assert [item.sentence for item in defects.listed] == ["A gap.", "Another one."]
    assert defects.total == 6


def test_a_state_and_a_channel_that_are_recorded_again_are_told_by_process_and_index():
    topology = Topology((Process("p"), Process("q")), (Channel("c", "p", "q"),))
    rows = [
        # process, index, kind, channel
        (1, 3, RECORD_CHANNEL, 0),
        (1, 4, RECORD_CHANNEL, 0),
        (1, 5, RECORD_STATE, -1),
        (0, 8, RECORD_STATE, -1),
        (0, 9, RECORD_STATE, 7),
    ]
    given = {
        "process": [process for process, *_ in rows],
        "index": [index for _, index, *_ in rows],
        "kind": [KINDS.index(kind) for _, _, kind, _ in rows],
        "channel": [channel for *_, channel in rows],
        "snapshot": [0] * len(rows),
        "line": list(range(10, 15)),
    }
    columns = [
        pa.array(given.get(field.name, [None] * len(rows)), field.type) for field in RECORD_COLUMNS
    ]
    defects = AllDefects()
    defects.add_records(pa.table(columns, RECORD_COLUMNS.names), [], topology, ["s"])
    assert [item.line for item in defects.listed] == [14, 11]
    assert "its state" in defects.listed[0].sentence
    assert 'channel "c"' in defects.listed[1].sentence
