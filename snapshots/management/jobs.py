"""Run jobs from the shell, or watch them while a worker runs them."""

import time
from collections.abc import Sequence

from celery import current_app
from django.core.management.base import BaseCommand, CommandError
from kombu.exceptions import OperationalError

from snapshots.jobs import running
from snapshots.models import Job

SECONDS_BETWEEN_LOOKS = 0.2
PING_SECONDS = 1.0


def workers_answer() -> bool:
    """Tell whether a worker answers and could take a job."""
    try:
        return bool(current_app.control.ping(timeout=PING_SECONDS))
    except (OperationalError, OSError):
        return False


def see_through(command: BaseCommand, jobs: Sequence[Job], *, inline: bool) -> None:
    """Wait until every job has ended, and print one line for each.

    With ``inline`` this process runs what no worker runs.
    Raises: CommandError if one did not succeed.
    """
    ended = [_ended(job, inline=inline) for job in jobs]
    for job in ended:
        command.stdout.write(_sentence(job))
    wrong = [job for job in ended if job.state != Job.State.DONE]
    if wrong:
        raise CommandError(f"{len(wrong)} of {len(ended)} did not succeed.")


def _ended(job: Job, *, inline: bool) -> Job:
    while job.is_open:
        if inline:
            _run_here(job)
        job.refresh_from_db()
        if job.is_open:
            time.sleep(SECONDS_BETWEEN_LOOKS)
    return job


def _run_here(job: Job) -> None:
    running.run(job.pk)
    job.refresh_from_db()
    if job.is_open and job.retry_at:
        raise CommandError(job.error["detail"])


def _sentence(job: Job) -> str:
    recording = job.recording
    assert recording is not None  # every job has one
    recording.refresh_from_db()
    if job.state != Job.State.DONE:
        return f"{recording.name}: {job.state}. {(job.error or {}).get('detail', '')}"
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in job.result["verdicts"].items())
    return (
        f"{recording.name}: ready, {recording.event_count:,} events; {verdicts or 'no'} snapshots"
    )
