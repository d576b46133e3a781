"""Define the files in which the inventory of an engine's checkpoints lies beside a recording."""

import pyarrow as pa

VERSION = 2  # of this layout; an inventory with another version must be read from the upload again
CONTENTS = "contents"  # folder
UPLOAD = "upload.json"  # UploadInventory, with only what a list shows of each checkpoint
REPORTS = "reports.json"  # JobReports; older stores have none
CHECKPOINT = "checkpoint-{}.json"  # CheckpointInventory
CHECK = "check.json"  # UploadCheck, with the checks' answers; absent in what older releases wrote
CHECK_OF = "check-{}.json"  # RestoreCheck of one checkpoint
WEIGHTS = "bytes-{}.json"  # of each checkpoint: bytes by state, place and key; newer than VERSION 2
ENTRIES = "entries.arrow"
CHANNEL_BYTES = "channels.arrow"
TYPES = "types.arrow"  # of states; data in flight may have them, too

# Sorted by checkpoint, operator, state, subtask, as the operator's subtasks gave them.
ENTRY_COLUMNS = pa.schema(
    [
        ("subtask", pa.int32()),
        ("key_group", pa.int32()),  # null: none
        ("namespace", pa.large_string()),  # JSON; null: none
        ("key", pa.large_string()),  # JSON; null: not known
        ("value", pa.large_string()),  # JSON; null: not known
        ("bytes", pa.int64()),
        ("head", pa.large_binary()),  # the first bytes of a key or value that is not known
        ("reason", pa.large_string()),  # why it is not known
        ("identity", pa.binary()),
        ("digest", pa.binary()),  # null: not known
    ]
)

CHANNEL_COLUMNS = pa.schema(
    [("checkpoint", pa.int32()), ("number", pa.int32()), ("data", pa.large_binary())]
)
TYPE_COLUMNS = pa.schema([("checkpoint", pa.int32()), ("data", pa.large_binary())])
