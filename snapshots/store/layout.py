"""Define a recording on disk: the names of its files, their columns, and what each column means.

A recording is a folder that is written once and then only read. The tables in folders are lists of
Arrow IPC files (parts) with one uncompressed record batch each, so every column can be mapped.
encoding.py says in how few bytes a part holds its columns; the types below are what comes out. The
manifest lists the parts; their names are unique and mean nothing.
Processes, channels, snapshots and kinds are codes: places in the manifest's lists (kinds,
snapshots) or rows of their table.

    manifest.json            Manifest; written last, so a folder with one is complete
    header_fields.arrow      further fields of the header, where the manifest lacks room for them
    processes.arrow          one row per process, in the order of the header
    channels.arrow           one row per channel, in the order of the header
    events/…                 each part sorted by (process, index); a process lies in one part
    messages/…               each part sorted by (channel, ordinal); a channel lies in one part
    message_disorder/…       likewise, only the channels whose messages overtake or get lost
    markers/…                like messages
    marker_disorder/…        like message_disorder
    index.arrow              where each process and channel begins and ends
    fences/                  some values of the searched columns, see fences.py
    records.arrow            record_state, record_channel, sorted by (snapshot, process, index)
    strays.arrow             receives that no send explains, sorted by line
    restores.arrow           those with an epoch, by process and index; missing if there are none
    levels/                  the overview, see levels.py
    snapshot_states.arrow    what the snapshots job found, sorted by (snapshot, process)
    snapshot_channels.arrow  likewise, sorted by (snapshot, channel)
    snapshots.json           one summary per snapshot: verdicts, witnesses, times
    snapshot_places.arrow    where each of them lies in snapshots.json; older stores have none
    checkpoints.json         of a dataflow: one report per checkpoint
    checkpoint_files.json    of a dataflow: its incremental files, and what became of requests
    failovers.json           of a dataflow: its failures, and what they repeated and lost
    defects.json             what was wrong with the input
"""

import pyarrow as pa

MANIFEST = "manifest.json"
HEADER_FIELDS = "header_fields.arrow"
PROCESSES = "processes.arrow"
CHANNELS = "channels.arrow"
EVENTS = "events"
MESSAGES = "messages"
MESSAGE_DISORDER = "message_disorder"
MARKERS = "markers"
MARKER_DISORDER = "marker_disorder"
INDEX = "index.arrow"
RECORDS = "records.arrow"
STRAYS = "strays.arrow"
RESTORES = "restores.arrow"
FENCES = "fences"
LEVELS = "levels"
SNAPSHOT_STATES = "snapshot_states.arrow"
SNAPSHOT_CHANNELS = "snapshot_channels.arrow"
SNAPSHOTS = "snapshots.json"
SNAPSHOT_PLACES = "snapshot_places.arrow"
CHECKPOINTS = "checkpoints.json"
CHECKPOINT_FILES = "checkpoint_files.json"
FAILOVERS = "failovers.json"
DEFECTS = "defects.json"
SIGNS = "signs-"  # begins the names of folders with signs of a run's progress
OUTLINES = ".outlines"  # of parts, until the recording is published; see outlines.py

NONE = -1  # in place of a code or an index
IN_FLIGHT = 2**63 - 1  # later than every index

_text = pa.large_string()

HEADER_FIELDS_COLUMNS = pa.schema([("name", _text), ("value", _text)])  # by name; JSON

PROCESS_COLUMNS = pa.schema(
    [
        ("id", pa.string()),
        ("state", _text),  # null: not known
        ("scope", pa.string()),  # null: none
    ]
)

CHANNEL_COLUMNS = pa.schema(
    [
        ("id", pa.string()),
        ("source", pa.int32()),
        ("target", pa.int32()),
        ("fifo", pa.bool_()),
        ("overtaking", pa.bool_()),
    ]
)

# The index within the process is the row's distance from the process's first row.
EVENT_COLUMNS = pa.schema(
    [
        ("process", pa.int32()),
        ("kind", pa.uint16()),  # place in Manifest.kinds
        ("at", pa.int64()),  # never falls within a process
        ("step", pa.int64()),  # rises within a process; one causal order of the whole recording
        ("line", pa.int64()),
        ("channel", pa.int32()),  # or NONE
        ("snapshot", pa.int32()),  # place in Manifest.snapshots, or NONE
        ("message", _text),
        ("value", _text),
        ("state", _text),
        ("label", _text),
        ("extra", _text),
        ("logged_at", pa.int64()),  # null if it equals ``at``
    ]
)

# The ordinal is the row's distance from the channel's first row.
MESSAGE_COLUMNS = pa.schema(
    [
        ("channel", pa.int32()),
        ("sent_index", pa.int64()),
        # Null while in flight. Of a message that a restore took back it is the restore's index.
        ("received_index", pa.int64()),
        # Max of received_index up to here, or NONE; IN_FLIGHT after the channel's last received
        # message. It never falls, so it can be searched. See flights.py, which computes it.
        ("received_reach", pa.int64()),
        ("sent_at", pa.int64()),
        ("received_at", pa.int64()),  # null while in flight
        ("message", _text),
        ("value", _text),
    ]
)

# The columns of messages that are those of an event: the column with the index of the event ends in
# ``_index`` and begins as said here. New stores leave them out.
FOLLOWING = {
    "sent_at": ("sent", "at"),
    "received_at": ("received", "at"),
    "message": ("sent", "message"),
    "value": ("sent", "value"),
}

MARKER_COLUMNS = pa.schema(
    [
        ("channel", pa.int32()),
        ("sent_index", pa.int64()),
        ("received_index", pa.int64()),
        ("received_reach", pa.int64()),
        ("sent_at", pa.int64()),
        ("received_at", pa.int64()),
        ("snapshot", pa.int32()),
    ]
)

# Only channels where a message (or marker) overtakes another or is lost before one that arrives,
# with as many rows as the channel has messages. Three sorted lists, padded with IN_FLIGHT.
DISORDER_COLUMNS = pa.schema(
    [
        ("channel", pa.int32()),
        ("received_sorted", pa.int64()),  # every received_index, sorted
        ("received_floor", pa.int64()),  # min of received_index from this ordinal on
        ("lost", pa.int64()),  # the ordinals that are never received, sorted
    ]
)

# One row per process in events and per channel in the other tables, if it has rows there.
INDEX_COLUMNS = pa.schema(
    [
        ("table", pa.string()),
        ("code", pa.int32()),  # process or channel
        ("part", pa.int32()),  # place in the manifest's list of the table's parts
        ("begin", pa.int64()),  # rows within the part, half open
        ("end", pa.int64()),
    ]
)

RECORD_COLUMNS = pa.schema(
    [
        ("snapshot", pa.int32()),
        ("process", pa.int32()),
        ("index", pa.int64()),
        ("at", pa.int64()),
        ("kind", pa.uint16()),
        ("channel", pa.int32()),
        ("state", _text),
        ("messages", pa.list_(_text)),
        ("line", pa.int64()),
    ]
)

STRAY_COLUMNS = pa.schema(
    [
        ("process", pa.int32()),
        ("index", pa.int64()),
        ("at", pa.int64()),
        ("channel", pa.int32()),
        ("message", _text),
        ("snapshot", pa.int32()),
        ("line", pa.int64()),
    ]
)

RESTORE_COLUMNS = pa.schema(
    [
        ("process", pa.int32()),
        ("index", pa.int64()),
        ("epoch", pa.int64()),
        ("snapshot", _text),  # null: the start
        ("line", pa.int64()),
        ("done", pa.int64()),  # see Restored in domain/model/recording.py
        ("missing", _text),
    ]
)

SNAPSHOT_STATE_COLUMNS = pa.schema(
    [
        ("snapshot", pa.int32()),
        ("process", pa.int32()),
        ("position", pa.int64()),  # NONE: the process never recorded
        ("recorded_at", pa.int64()),
        ("recorded", _text),  # null: not known
        ("recomputed", _text),
    ]
)

# Only channels with a recorded list (which may be empty) or with messages in flight.
SNAPSHOT_CHANNEL_COLUMNS = pa.schema(
    [
        ("snapshot", pa.int32()),
        ("channel", pa.int32()),
        ("recorded", pa.list_(_text)),  # ids of messages; null: the log does not say
        ("recomputed", pa.list_(pa.int64())),  # ordinals; null: an end never recorded
    ]
)

# One row per summary, in the order of the file.
SNAPSHOT_PLACES_COLUMNS = pa.schema(
    [
        ("snapshot", _text),
        ("begin", pa.int64()),  # bytes of the file, half open
        ("end", pa.int64()),
    ]
)

FOLDERS = (EVENTS, MESSAGES, MESSAGE_DISORDER, MARKERS, MARKER_DISORDER, FENCES, LEVELS)

# The tables that are lists of parts, with their columns and the column whose codes the index lists.
PARTED = {
    EVENTS: (EVENT_COLUMNS, "process"),
    MESSAGES: (MESSAGE_COLUMNS, "channel"),
    MESSAGE_DISORDER: (DISORDER_COLUMNS, "channel"),
    MARKERS: (MARKER_COLUMNS, "channel"),
    MARKER_DISORDER: (DISORDER_COLUMNS, "channel"),
}
