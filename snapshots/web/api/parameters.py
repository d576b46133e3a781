"""Parameters that several calls share, with their descriptions; all numbers are bounded."""

from typing import Annotated

from ninja import Path, Query

MOST_INT = 2**63 - 1
MOST_LISTED = 500

Offset = Annotated[
    int, Query(0, ge=0, le=MOST_INT, description="How many items to skip, from the first.")
]
Limit = Annotated[
    int, Query(100, ge=1, le=MOST_LISTED, description="How many items the answer has at most.")
]
RecordingId = Annotated[int, Path(description="The number of the recording.")]
SnapshotId = Annotated[
    str, Path(description="The id of the snapshot, percent-encoded; a slash may stay as it is.")
]
ProcessId = Annotated[
    str, Path(description="The id of the process, percent-encoded; a slash may stay as it is.")
]
EventIndex = Annotated[
    int, Path(description="The number of the event within its process, counted from 0.")
]
CheckpointNumber = Annotated[
    int, Path(description="The checkpoint's place in the list of the upload, counted from 0.")
]
JobId = Annotated[int, Path(description="The number of the job.")]
TopologyId = Annotated[int, Path(description="The number of the topology.")]
MappingId = Annotated[int, Path(description="The number of the mapping.")]
CollectorId = Annotated[int, Path(description="The number of the collector.")]
ArchivedJobId = Annotated[int, Path(description="The number of the engine's job in the archive.")]
Holder = Annotated[
    int | None,
    Query(None, description="The number of the team that gets it; without it, it is yours alone."),
]
OwnedBy = Annotated[
    str, Query("", description="`mine`, or the number of a team whose it is; empty for all.")
]
TeamId = Annotated[int, Path(description="The number of the team.")]
PersonId = Annotated[int, Path(description="The number of the person.")]
