"""Compare the ways to take checkpoints on a simulated dataflow of Flink."""

from functools import lru_cache

from snapshots.models import Recording
from snapshots.simulating.compared_modes import ComparedModes, ModeRuns, mode_runs


def runs_of(recording: Recording | None, seed: int | None = None) -> ModeRuns:
    """Return the runs of a recording's dataflow, or of the demonstration if there is none.

    Raises: Conflict if it cannot run in each mode, Refused for a seed out of bounds.
    """
    return mode_runs(None if recording is None else recording.parameters or {}, seed)


def compared(recording: Recording | None, runs: ModeRuns) -> ComparedModes:
    """Return what came of the runs; those of the demonstration are kept in memory."""
    return runs.compared() if recording is not None else _demonstrated(runs.seed)


@lru_cache(maxsize=16)
def _demonstrated(seed: int) -> ComparedModes:
    return mode_runs(None, seed).compared()
