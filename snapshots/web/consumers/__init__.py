"""Serve websockets: check access, answer from the store, and relay messages.

A recording's websocket takes window, cut and search, plays the recording, and takes what people
share who look at it (docs/websocket.md).

Work for one client is bounded. One window, one cut and one search are computed at a time, and only
the newest other request of each kind waits; older requests are refused. One session of playing
sends no more than is read. Nothing further is computed for a client that does not read its answers.
"""

from snapshots.web.consumers.connection import NOT_FOUND, TRY_AGAIN, UNAUTHORIZED
from snapshots.web.consumers.recording import (
    ASKED,
    MOST_BYTES,
    MOVED,
    NOT_READY,
    PLAYED,
    TAKEN,
    TOO_LARGE,
    RecordingConsumer,
)
from snapshots.web.consumers.reporting import (
    ArchiveConsumer,
    JobsConsumer,
    NotesConsumer,
    NowhereConsumer,
    ReviewConsumer,
    SystemsConsumer,
)
