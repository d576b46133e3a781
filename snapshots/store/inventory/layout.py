"""The contents of an engine's checkpoints beside a stored recording: which file holds what."""

import pyarrow as pa

VERSION = 2  # of what is written here; contents of another one are to be read from the upload again
CONTENTS = "contents"  # folder
UPLOAD = "upload.json"  # UploadInventory; of each checkpoint only what a list shows
CHECKPOINT = "checkpoint-{}.json"  # CheckpointInventory
ENTRIES = "entries.arrow"
CHANNEL_BYTES = "channels.arrow"
TYPES = "types.arrow"  # of states, which data in flight may be of, too

# Sorted by checkpoint, operator, state, subtask, as the operator's subtasks gave them.
ENTRY_COLUMNS = pa.schema(
    [
        ("subtask", pa.int32()),
        ("key_group", pa.int32()),  # null: none
        ("namespace", pa.large_string()),  # JSON; null: none
        ("key", pa.large_string()),  # JSON; null: not known
        ("value", pa.large_string()),  # JSON; null: not known
        ("bytes", pa.int64()),
        ("head", pa.large_binary()),  # the first bytes of what is not known
        ("reason", pa.large_string()),  # why it is not
        ("identity", pa.binary()),
        ("digest", pa.binary()),  # null: cannot be told
    ]
)

CHANNEL_COLUMNS = pa.schema(
    [("checkpoint", pa.int32()), ("number", pa.int32()), ("data", pa.large_binary())]
)
TYPE_COLUMNS = pa.schema([("checkpoint", pa.int32()), ("data", pa.large_binary())])
