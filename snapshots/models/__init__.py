"""Define the rows that people list and edit; events lie in the store, see ``store/layout.py``."""

from snapshots.models.archive import (
    Collector,
    EngineCheckpoint,
    EngineCheckpointDetail,
    EngineJob,
    EnginePoll,
    EngineRescale,
)
from snapshots.models.jobs import LONGEST_PHASE, Job
from snapshots.models.recordings import (
    LONGEST_FORMAT,
    WHOLE_STATE,
    Mapping,
    Recording,
    Snapshot,
    Topology,
)
from snapshots.models.requests import Allowance, IdempotentRequest, Installation, ResumableUpload

__all__ = [
    "LONGEST_FORMAT",
    "LONGEST_PHASE",
    "WHOLE_STATE",
    "Allowance",
    "Collector",
    "EngineCheckpoint",
    "EngineCheckpointDetail",
    "EngineJob",
    "EnginePoll",
    "EngineRescale",
    "IdempotentRequest",
    "Installation",
    "Job",
    "Mapping",
    "Recording",
    "ResumableUpload",
    "Snapshot",
    "Topology",
]
