"""Collect checkpoints from a running Flink, whose REST API keeps only the last ten.

Each round first stores what the history says about every checkpoint. Then it fetches missing
details of ended checkpoints, the oldest first, because Flink forgets these first. At last it
asks how far the checkpoints in progress have come (``polling``). Every checkpoint is stored in its
own transaction and is merged with what is stored already. So if a round is killed, or polls a
server just after its restart, the next round collects what that round missed.
"""

import logging
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from snapshots.archive import polling, rescales, seatunnel, services, signals, spark, watching
from snapshots.archive.addresses import Forbidden
from snapshots.archive.fetching import POLL_SECONDS, Client, NotAnswered
from snapshots.archive.rounds import MOST_JOBS, Moved, Round, note_gone, state_of, take, take_all
from snapshots.domain.archive.model import COMPLETED, FAILED, CheckpointFacts, JobFacts
from snapshots.models import Collector, EngineJob
from snapshots.readers.engines.flink.rest.answers import CHECKPOINT, CHECKPOINTS, SUBTASKS, Answer
from snapshots.readers.engines.flink.rest.archive import ENGINE, facts_of
from snapshots.readers.engines.flink.rest.checkpoints import checkpoints_of
from snapshots.readers.engines.flink.rest.fields import items, mapping, number, text
from snapshots.readers.engines.flink.rest.job import counts_of

logger = logging.getLogger(__name__)

MOST_VERTICES = 1_000
LONGEST_ERROR = 500
_ID = re.compile(r"[0-9a-f]{32}")


def poll(owner, url: str, job_key: str = "", collector: Collector | None = None) -> Round:
    """Poll once. ``url`` is a checked address; an empty ``job_key`` stands for all jobs.

    Raises: Moved.
    """
    client, outcome = Client(url), Round()
    try:
        listed = _listed(client)
        keys = [job_key] if job_key else listed[:MOST_JOBS]
    except NotAnswered as silence:
        outcome.problems.append(str(silence))
        return outcome
    note_gone(owner, ENGINE, url, listed)
    if len(listed) > len(keys) and not job_key:
        outcome.problems.append(f"{url} lists {len(listed):,} jobs: {MOST_JOBS} are followed.")
    for key in keys:
        try:
            _follow(client, owner, key, collector, outcome)
        except NotAnswered as silence:
            if not job_key and silence.status == 404:  # has ended, or takes no checkpoints
                continue
            outcome.problems.append(str(silence))
    return outcome


def _listed(client: Client) -> list[str]:
    """Return the ids of the jobs that the Flink cluster lists. Raises: NotAnswered."""
    answer = client.get("/jobs")
    if not isinstance(mapping(answer).get("jobs"), list):
        raise NotAnswered(f"{client.url}/jobs does not answer like Flink.")
    keys = (text(job, "id") for job in items(answer, "jobs"))
    return [key for key in keys if key is not None and _ID.fullmatch(key)]


def _follow(client: Client, owner, key: str, collector: Collector | None, outcome: Round) -> None:
    job = mapping(client.get(f"/jobs/{key}"))
    statistics = client.get(f"/jobs/{key}/checkpoints")
    history = Answer(CHECKPOINTS, "", statistics, key)
    names = _names(job)
    job_facts = JobFacts(
        ENGINE,
        key,
        text(job, "name") or "",
        (text(job, "state") or "").lower(),
        facts_of(checkpoints_of([history]), names),
        counts=counts_of(statistics),
    )
    state_before = state_of(owner, ENGINE, key)
    add = take_all if _lists_checkpoints(statistics) else take
    row = add(owner, job_facts, collector)
    watching.note(
        row,
        watching.Told(
            client.url,
            number(job, "now"),
            _running_since(job, statistics),
            _restored_at(statistics) is not None,
            state_before,
        ),
    )
    outcome.jobs.append(row)
    try:
        for lacking in _lacking(row, job_facts.checkpoints):
            try:
                details = _details(client, key, lacking, names)
            except NotAnswered as silence:
                if silence.status == 404:  # Flink forgot it meanwhile; what the history said stays
                    continue
                raise
            row = take(owner, JobFacts(ENGINE, key, checkpoints=details), collector)
            outcome.detailed += 1
        polling.keep_polls(client, row, job, job_facts.checkpoints)
        rescales.keep_rescales(client, row, job)
    finally:
        signals.job_reported.send(None, job=row)


def _lists_checkpoints(statistics: object) -> bool:
    return isinstance(mapping(statistics).get("history"), list)


def _running_since(job: Mapping[str, Any], statistics: object) -> int | None:
    """Return when the job last began to run or was restored; None if Flink does not say."""
    started = number(mapping(job, "timestamps"), "RUNNING") or None  # Flink writes 0 for never
    known = (started, _restored_at(statistics))
    return max((at for at in known if at is not None), default=None)


def _restored_at(statistics: object) -> int | None:
    return number(mapping(statistics, "latest", "restored"), "restore_timestamp")


def _names(job: Mapping[str, Any]) -> dict[str, str]:
    """Return the vertices' names by id."""
    pairs = ((text(vertex, "id"), text(vertex, "name")) for vertex in items(job, "vertices"))
    return {vertex: name for vertex, name in pairs if vertex and name}


def _lacking(job: EngineJob, listed: tuple[CheckpointFacts, ...]) -> list[int]:
    """Return the numbers of ended checkpoints without details of subtasks, the oldest first."""
    ended = {checkpoint.number for checkpoint in listed if checkpoint.status in (FAILED, COMPLETED)}
    detailed = job.checkpoints.filter(number__in=list(ended), detail__isnull=False)
    return sorted(ended - set(detailed.values_list("number", flat=True)))


def _details(
    client: Client, key: str, checkpoint_id: int, names: Mapping[str, str]
) -> tuple[CheckpointFacts, ...]:
    path = f"/jobs/{key}/checkpoints/details/{checkpoint_id}"
    checkpoint = mapping(client.get(path))
    answers = [Answer(CHECKPOINT, "", checkpoint, key, checkpoint_id)]
    vertices = [key for key in mapping(checkpoint, "tasks") if _ID.fullmatch(key)]
    for vertex in vertices[:MOST_VERTICES]:
        subtasks = client.get(f"{path}/subtasks/{vertex}")
        answers.append(Answer(SUBTASKS, "", subtasks, key, checkpoint_id, vertex))
    facts = facts_of(checkpoints_of(answers), names)
    return tuple(fact for fact in facts if fact.number == checkpoint_id)


POLLS = {ENGINE: poll, seatunnel.ENGINE: seatunnel.poll, spark.ENGINE: spark.poll}
"""How each engine is asked once."""


def due() -> list[Collector]:
    """Claim and return the collectors whose next round is due; only one worker gets each."""
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
    """Run one round of a collector and note it in its row, also if it failed."""
    began = timezone.now()
    try:
        services.require_allowed(collector.engine, collector.url)
        ask = POLLS[collector.engine]
        outcome = ask(collector.owner, collector.url, collector.job_key, collector)
        problem = " ".join(outcome.problems)[:LONGEST_ERROR]
    except (Moved, Collector.DoesNotExist):
        logger.info("The round of the collector %s ended: it was moved or deleted", collector.pk)
        Collector.objects.filter(pk=collector.pk).update(next_poll_at=timezone.now())
        return
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
