"""What the rounds of all collectors share: their outcome, and how facts come into the archive."""

from collections.abc import Collection
from dataclasses import dataclass, field

from django.db import transaction

from snapshots.archive import filling, signals, watching
from snapshots.domain.archive.model import IN_PROGRESS, JobFacts
from snapshots.models import Collector, EngineJob

MOST_JOBS = 200


@dataclass
class Round:
    """The outcome of one round: jobs, the number of checkpoints with new details, and problems."""

    jobs: list[EngineJob] = field(default_factory=list)
    detailed: int = 0
    problems: list[str] = field(default_factory=list)


class Moved(Exception):
    """The collector was deleted, or moved to another owner, since its round began."""


@transaction.atomic
def take_all(owner, job_facts: JobFacts, collector: Collector | None) -> EngineJob:
    """Add facts that name every checkpoint in progress of the job. Raises: Moved."""
    job = take(owner, job_facts, collector)
    going = {facts.key for facts in job_facts.checkpoints if facts.status == IN_PROGRESS}
    filling.forget_progress(job, going)
    return job


@transaction.atomic
def take(owner, job_facts: JobFacts, collector: Collector | None) -> EngineJob:
    """Add facts to the archive of the owner. Raises: Moved if the collector is no longer theirs."""
    if collector is not None:
        rows = Collector.objects.select_for_update().filter(pk=collector.pk, owner=owner)
        if rows.first() is None:
            raise Moved
    return filling.take(owner, job_facts, collector=collector)


def state_of(owner, engine: str, key: str) -> str:
    """Return the state of the newest run of a job as it is stored; empty if there is none."""
    runs = EngineJob.objects.filter(owner=owner, engine=engine, key=key).order_by("-run")
    return runs.values_list("state", flat=True).first() or ""


def note_gone(owner, engine: str, url: str, listed: Collection[str]) -> None:
    """Mark the jobs that an engine at this address has reported and does not list as gone."""
    followed = EngineJob.objects.filter(owner=owner, engine=engine, heard_from=url)
    for job in followed.exclude(state__in=(*watching.ENDED, EngineJob.GONE)):
        if job.key not in listed:
            job.state, job.began_at = EngineJob.GONE, None
            job.save(update_fields=["state", "began_at"])
            filling.forget_progress(job, ())
            signals.job_reported.send(None, job=job)
