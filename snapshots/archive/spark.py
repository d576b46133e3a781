"""Collect the batches of a running Spark query from its checkpoint folder, as it grows.

Nothing in the folder says whether the query runs, so the archive does not know its state. A batch
has ended when its commit file was written.
"""

import time
from pathlib import Path

from snapshots.archive import signals, watching
from snapshots.archive.folders import require_below
from snapshots.archive.rounds import Round, state_of, take_all
from snapshots.domain.archive.model import COMPLETED, JobFacts
from snapshots.models import Collector, EngineCheckpoint, EngineJob
from snapshots.readers.engines.spark_streaming.following import NotACheckpoint, look

ENGINE = "spark"
MOST_PROBLEMS = 3  # that are shown


def poll(owner, url: str, job_key: str = "", collector: Collector | None = None) -> Round:
    """Look once into the folder of a Spark query, and archive the batches that are new.

    ``url`` is a checked folder. A folder has one query, so ``job_key`` is not used. For a
    collector, only what lies below a folder of the setting is read.

    Raises: Moved, Forbidden.
    """
    outcome = Round()
    root, below = (Path(url), "") if collector is None else require_below(url)
    try:
        looked = look(root, below, lambda query: _complete(owner, query))
    except NotACheckpoint as refusal:
        outcome.problems.append(f"{url} is not followed. {refusal}")
        return outcome
    problems = looked.problems
    outcome.problems += problems[:MOST_PROBLEMS]
    if len(problems) > MOST_PROBLEMS:
        outcome.problems.append(f"{len(problems) - MOST_PROBLEMS:,} more files cannot be read.")
    state_before = state_of(owner, ENGINE, looked.query)
    runs = EngineJob.objects.filter(owner=owner, engine=ENGINE, key=looked.query)
    before = dict(runs.values_list("pk", "version"))
    facts = JobFacts(ENGINE, looked.query, checkpoints=looked.checkpoints)
    row = take_all(owner, facts, collector)
    now = round(time.time() * 1000)
    watching.note(row, watching.Told(url, now, None, is_restored=False, state_before=state_before))
    outcome.jobs.append(row)
    outcome.detailed += row.checkpoints.filter(version__gt=before.get(row.pk, 0)).count()
    signals.job_reported.send(None, job=row)
    return outcome


def _complete(owner, query: str) -> set[int]:
    """Return the batches that are known to be complete, of the newest run of a query."""
    runs = EngineJob.objects.filter(owner=owner, engine=ENGINE, key=query).order_by("-run")
    row = runs.first()
    rows = row.checkpoints.filter(status=COMPLETED) if row else EngineCheckpoint.objects.none()
    return set(rows.values_list("number", flat=True))
