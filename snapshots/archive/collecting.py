"""Collecting from a running Flink, whose REST API tells of the last ten checkpoints alone.

Each round first keeps what the history says of every checkpoint, then asks for the details of those
that have ended and whose details are not there yet, the oldest first: they are forgotten first.
Every checkpoint is a transaction of its own and is merged with what is there. So a round that is
killed, or asked of a server that has just started again, is made up for by the next.
"""

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from snapshots.archive import filling
from snapshots.archive.addresses import Forbidden, require_listed
from snapshots.archive.fetching import POLL_SECONDS, Client, NotAnswered
from snapshots.domain.archive.model import COMPLETED, FAILED, CheckpointFacts, JobFacts
from snapshots.models import Collector, EngineJob
from snapshots.readers.engines.flink.rest.answers import CHECKPOINT, CHECKPOINTS, SUBTASKS, Answer
from snapshots.readers.engines.flink.rest.archive import ENGINE, facts_of
from snapshots.readers.engines.flink.rest.checkpoints import checkpoints_of
from snapshots.readers.engines.flink.rest.fields import items, mapping, text
from snapshots.readers.engines.flink.rest.job import counts_of

logger = logging.getLogger(__name__)

MOST_JOBS = 200
MOST_VERTICES = 1_000
LONGEST_ERROR = 500
_ENDED = ("finished", "canceled", "failed")  # states that stay true when Flink has forgotten
_ID = re.compile(r"[0-9a-f]{32}")


@dataclass
class Round:
    """What one round found. problems: sentences; jobs: those heard of."""

    jobs: list[EngineJob] = field(default_factory=list)
    detailed: int = 0
    problems: list[str] = field(default_factory=list)


def poll(owner, url: str, job_key: str = "", collector: Collector | None = None) -> Round:
    """One round. url: as ``addresses.checked`` gives it. job_key: empty for all jobs."""
    client, found = Client(url), Round()
    try:
        listed = _listed(client)
        keys = [job_key] if job_key else listed[:MOST_JOBS]
    except NotAnswered as silence:
        found.problems.append(str(silence))
        return found
    _note_gone(owner, url, listed)
    if len(listed) > len(keys) and not job_key:
        found.problems.append(f"{url} lists {len(listed):,} jobs: {MOST_JOBS} are followed.")
    for key in keys:
        try:
            _follow(client, owner, key, collector, found)
        except NotAnswered as silence:
            if not job_key and silence.status == 404:  # has ended, or takes no checkpoints
                continue
            found.problems.append(str(silence))
    return found


def _listed(client: Client) -> list[str]:
    """The ids of the jobs that this Flink knows. Raises: NotAnswered."""
    answer = client.get("/jobs")
    if not isinstance(mapping(answer).get("jobs"), list):
        raise NotAnswered(f"{client.url}/jobs answers something else than Flink does.")
    keys = (text(one, "id") for one in items(answer, "jobs"))
    return [key for key in keys if key is not None and _ID.fullmatch(key)]


def _note_gone(owner, url: str, listed: list[str]) -> None:
    """Of a job that another Flink at this address does not know, no state is known any more."""
    heard = EngineJob.objects.filter(owner=owner, engine=ENGINE, heard_from=url)
    for job in heard.exclude(state__in=(*_ENDED, EngineJob.GONE)):
        if job.key not in listed:
            EngineJob.objects.filter(pk=job.pk).update(state=EngineJob.GONE)


def _follow(client: Client, owner, key: str, collector: Collector | None, found: Round) -> None:
    job = mapping(client.get(f"/jobs/{key}"))
    told_of = client.get(f"/jobs/{key}/checkpoints")
    history = Answer(CHECKPOINTS, "", told_of, key)
    names = _names(job)
    told = JobFacts(
        ENGINE,
        key,
        text(job, "name") or "",
        (text(job, "state") or "").lower(),
        facts_of(checkpoints_of([history]), names),
        counts=counts_of(told_of),
    )
    row = filling.take(owner, told, collector=collector)
    EngineJob.objects.filter(pk=row.pk).update(heard_from=client.url, heard_at=timezone.now())
    found.jobs.append(row)
    for number in _lacking(row, told.checkpoints):
        try:
            facts = _details(client, key, number, names)
        except NotAnswered as silence:
            if silence.status == 404:  # forgotten meanwhile: what the history said stays
                continue
            raise
        filling.take(owner, JobFacts(ENGINE, key, checkpoints=facts), collector=collector)
        found.detailed += 1


def _names(job: Mapping[str, Any]) -> dict[str, str]:
    """Of the vertices."""
    told = ((text(one, "id"), text(one, "name")) for one in items(job, "vertices"))
    return {vertex: name for vertex, name in told if vertex and name}


def _lacking(job: EngineJob, told: tuple[CheckpointFacts, ...]) -> list[int]:
    """The numbers of what has ended and of which no subtask is known, the oldest first."""
    ended = {one.number for one in told if one.status in (FAILED, COMPLETED)}
    known = job.checkpoints.filter(number__in=list(ended), detail__isnull=False)
    return sorted(ended - set(known.values_list("number", flat=True)))


def _details(
    client: Client, key: str, number: int, names: Mapping[str, str]
) -> tuple[CheckpointFacts, ...]:
    path = f"/jobs/{key}/checkpoints/details/{number}"
    checkpoint = mapping(client.get(path))
    answers = [Answer(CHECKPOINT, "", checkpoint, key, number)]
    vertices = [one for one in mapping(checkpoint, "tasks") if _ID.fullmatch(one)]
    for vertex in vertices[:MOST_VERTICES]:
        subtasks = client.get(f"{path}/subtasks/{vertex}")
        answers.append(Answer(SUBTASKS, "", subtasks, key, number, vertex))
    facts = facts_of(checkpoints_of(answers), names)
    return tuple(one for one in facts if one.number == number)


def due() -> list[Collector]:
    """Those that are to ask now, claimed: of several workers one gets each."""
    now = timezone.now()
    waiting = Q(next_poll_at__isnull=True) | Q(next_poll_at__lte=now)
    claimed = []
    for row in Collector.objects.filter(waiting, is_collecting=True).select_related("owner"):
        until = now + _pause(row) + timedelta(seconds=POLL_SECONDS)
        same = Q(next_poll_at=row.next_poll_at) if row.next_poll_at else waiting
        if Collector.objects.filter(same, pk=row.pk).update(next_poll_at=until):
            claimed.append(row)
    return claimed


def _pause(collector: Collector) -> timedelta:
    """Return the time between two rounds: never less than the server's setting allows today."""
    return timedelta(seconds=max(collector.interval_seconds, settings.MIN_COLLECT_SECONDS))


def collect(collector: Collector) -> None:
    """One round of a collector, noted in its row. A failure is noted, too, and asked again."""
    began = timezone.now()
    try:
        require_listed(collector.url)
        found = poll(collector.owner, collector.url, collector.job_key, collector)
        problem = " ".join(found.problems)[:LONGEST_ERROR]
    except Forbidden as refusal:
        problem = str(refusal)[:LONGEST_ERROR]
    except Exception:
        logger.exception("The collector %s failed", collector.pk)
        problem = "A fault in Cutline; the worker's log has the details."
    answered = {} if problem else {"last_polled_at": timezone.now()}
    Collector.objects.filter(pk=collector.pk).update(
        last_error=problem,
        next_poll_at=began + _pause(collector),
        **answered,
    )
