"""Collect checkpoints from a running SeaTunnel, whose REST API keeps the last 32 of a pipeline.

SeaTunnel tells of checkpoints from version 2.3.13 on. It has no clock in its answers, so that of
the header ``Date`` is taken, which its HTTP server sends.
"""

from typing import Any

from snapshots.archive import signals, watching
from snapshots.archive.fetching import Client, NotAnswered
from snapshots.archive.rounds import MOST_JOBS, Round, note_gone, state_of, take_all
from snapshots.models import Collector, EngineJob
from snapshots.readers.engines.seatunnel.adapter import reported
from snapshots.readers.engines.seatunnel.rest import CHECKPOINTS, JOB, Job, answer_of

ENGINE = reported.ENGINE
_SINCE = "SeaTunnel tells of checkpoints from version 2.3.13 on."


def poll(owner, url: str, job_key: str = "", collector: Collector | None = None) -> Round:
    """Poll once. ``url`` is a checked address; an empty ``job_key`` stands for all jobs.

    Raises: Moved.
    """
    client, outcome = Client(url), Round()
    try:
        running = _running(client)
        ended = _ended(client, owner, url, running)
    except NotAnswered as silence:
        outcome.problems.append(str(silence))
        return outcome
    known = running | ended
    note_gone(owner, ENGINE, url, known)
    keys = [job_key] if job_key else list(known)[:MOST_JOBS]
    if len(known) > len(keys) and not job_key:
        outcome.problems.append(f"{url} lists {len(known):,} jobs: {MOST_JOBS} are followed.")
    for key in keys:
        try:
            _follow(client, owner, key, known.get(key), collector, outcome)
        except NotAnswered as silence:
            problem = f"{silence} {_SINCE}" if silence.status == 404 else str(silence)
            outcome.problems.append(problem)
    return outcome


def _running(client: Client) -> dict[str, Job]:
    """Return the running jobs by their ids. Raises: NotAnswered."""
    value = client.get("/running-jobs")
    answer = answer_of(value)
    if value != [] and (answer is None or answer.kind != JOB):
        raise NotAnswered(f"{client.url}/running-jobs does not answer like SeaTunnel.")
    return _by_key(answer.jobs if answer else ())


def _ended(client: Client, owner, url: str, running: dict[str, Job]) -> dict[str, Job]:
    """Return the jobs that ran when they were reported last, and have ended. Raises: NotAnswered.

    SeaTunnel answers with the id alone for a job that it does not know.
    """
    rows = EngineJob.objects.filter(owner=owner, engine=ENGINE, heard_from=url)
    left = rows.exclude(state__in=(*watching.ENDED, EngineJob.GONE)).exclude(key__in=running)
    found: dict[str, Job] = {}
    for key in left.values_list("key", flat=True)[:MOST_JOBS]:
        answer = answer_of(client.get(f"/job-info/{key}"))
        if answer is not None and answer.kind == JOB:
            found |= {each: job for each, job in _by_key(answer.jobs).items() if each == key}
    return found


def _by_key(jobs: tuple[Job, ...]) -> dict[str, Job]:
    return {str(job.id): job for job in jobs if job.id is not None and job.id >= 0}


def _follow(
    client: Client,
    owner,
    key: str,
    job: Job | None,
    collector: Collector | None,
    outcome: Round,
) -> None:
    value: Any = client.get(f"/jobs/checkpoints/{key}")
    answer = answer_of(value)
    if answer is None or answer.kind != CHECKPOINTS or answer.job not in (None, int(key)):
        raise NotAnswered(f"{client.url}/jobs/checkpoints/{key} does not answer like SeaTunnel.")
    state_before = state_of(owner, ENGINE, key)
    runs = EngineJob.objects.filter(owner=owner, engine=ENGINE, key=key)
    before = dict(runs.values_list("pk", "version"))
    row = take_all(owner, reported.job_facts_of(key, job, answer), collector)
    outcome.detailed += row.checkpoints.filter(version__gt=before.get(row.pk, 0)).count()
    watching.note(
        row,
        watching.Told(client.url, client.date, None, is_restored=False, state_before=state_before),
    )
    outcome.jobs.append(row)
    signals.job_reported.send(None, job=row)
