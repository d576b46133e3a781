"""Note events for the people and teams whom they concern.

Each call writes rows in the open transaction. Workers send them later (``sending.py``), so no
caller waits for a receiver or fails with it.
"""

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from snapshots import access
from snapshots.domain.archive.stalls import Stall
from snapshots.domain.judging.findings import REGISTRY
from snapshots.fields import clipped
from snapshots.models import EngineJob, Job
from snapshots.quantities import counted
from webapp.notices import kinds, mail
from webapp.notices.models import Delivery, MailChoice, Notice, Webhook
from webapp.teams.models import Membership
from webapp.teams.roles import Role

LONGEST_NAME = 120  # characters of a job's name in a notice
NOT_CONSISTENT = {verdict.name for verdict in REGISTRY if verdict.colour == "inconsistent"}
"""Verdicts that say what is wrong. ``incomplete`` and ``unknown`` claim nothing of the kind."""


@transaction.atomic
def notify(
    owner: User | None,
    kind: str,
    *,
    key: str,
    title: str,
    sentence: str,
    path: str = "",
    data: dict[str, Any] | None = None,
) -> Notice | None:
    """Note an event, once for each ``key``; return None if nothing is to be sent.

    Args:
        owner: the person or the account of the team whom it concerns; None for a sample, of which
            nobody is notified.
        kind: one of ``kinds.NAMES``.
        key: a name of the event: a second call with the same one does nothing.
        title: the subject of an e-mail.
        sentence: what happened. It leaves the server, so it must hold nothing secret.
        path: the page that shows it.
        data: further members of a webhook's ``data``.
    """
    if owner is None or not is_heard(owner):
        return None
    webhooks = [row for row in Webhook.objects.filter(owner=owner, is_on=True) if kind in row.kinds]
    is_mailed = kind in mailed_kinds(owner) and mail.is_possible(owner)
    if not webhooks and not is_mailed:
        return None
    notice, is_new = Notice.objects.get_or_create(
        owner=owner,
        kind=kind,
        key=key[:200],
        defaults={"title": title, "sentence": sentence, "path": path, "data": data or {}},
    )
    if not is_new:
        return None
    receivers: list[Webhook | None] = [*webhooks, *([None] if is_mailed else [])]
    Delivery.objects.bulk_create([Delivery(notice=notice, webhook=row) for row in receivers])
    return notice


def is_heard(owner: User) -> bool:
    """Tell whether events are sent for a person or a team: one with an open account decides it.

    Nobody signs in to a team's account, which is therefore never active.
    """
    return (
        owner.is_active
        or Membership.objects.filter(
            team=owner.pk, role=Role.OWNER, person__is_active=True
        ).exists()
    )


def mailed_kinds(owner: User) -> list[str]:
    """Return the kinds of events of which the person gets e-mail."""
    choice = MailChoice.objects.filter(owner=owner).first()
    return kinds.MAILED if choice is None else choice.kinds


def job_ended(job: Job) -> None:
    """Note that a job is done, failed or refused, and that verdicts are not consistent.

    A cancelled job is not noted: a person cancelled it. Neither is a job about a recording that its
    owner may see no longer.
    """
    if not access.owner_sees(job):
        return
    if job.state == Job.State.DONE:
        _note_end(job, kinds.JOB_DONE, "is done")
        _note_verdicts(job)
    elif job.state in (Job.State.FAILED, Job.State.REFUSED):
        detail = (job.error or {}).get("detail", "The reason is not known.")
        ending = "failed" if job.state == Job.State.FAILED else "was refused"
        _note_end(job, kinds.JOB_FAILED, ending, f" {detail}")


def _note_end(job: Job, kind: str, ending: str, reason: str = "") -> None:
    name = job.recording.name if job.recording else "a deleted recording"
    notify(
        job.owner,
        kind,
        key=f"job {job.pk}",
        title=f"{job.kind} of “{name}” {ending}",
        sentence=f"Job {job.pk}, {job.kind} of “{name}”, {ending}.{reason}",
        path=f"/jobs/{job.pk}",
        data={
            "job": job.pk,
            "job_kind": job.kind,
            "state": job.state,
            "recording": job.recording_id,
            "recording_name": name if job.recording else None,
        },
    )


def _note_verdicts(job: Job) -> None:
    if job.kind not in Job.WRITING or job.recording is None:
        return
    verdicts = (job.result or {}).get("verdicts", {})
    wrong = {name: number for name, number in verdicts.items() if name in NOT_CONSISTENT}
    if not wrong:
        return
    name, total = job.recording.name, sum(verdicts.values())
    listed = ", ".join(f"{number:,} {verdict}" for verdict, number in wrong.items())
    notify(
        job.owner,
        kinds.NOT_CONSISTENT,
        key=f"recording {job.recording_id}",
        title=f"“{name}” is not consistent",
        sentence=f"{sum(wrong.values()):,} of {counted(total, 'snapshot')} of “{name}” "
        f"{'is' if sum(wrong.values()) == 1 else 'are'} not consistent: {listed}.",
        path=f"/recordings/{job.recording_id}/snapshots",
        data={
            "recording": job.recording_id,
            "recording_name": name,
            "snapshots": total,
            "verdicts": verdicts,
        },
    )


def mentioned(person: User, by: User, *, key: str, where: str, path: str) -> None:
    """Note that somebody mentions a person.

    Args:
        person: who is mentioned and may see the page.
        by: who mentions them; nobody is told of mentioning themselves.
        key: the entry and its version, so that an edit does not notify again.
        where: the thing with the entry, such as: recording 7 “two banks”.
        path: the page with the entry.
    """
    if person.pk == by.pk:
        return
    notify(
        person,
        kinds.MENTIONED,
        key=key,
        title=f"{by} mentions you",
        sentence=f"{by} mentions you in {where}.",
        path=path,
        data={"by": str(by), "where": where},
    )


def follow_up_due(person: User, *, key: str, title: str, due: str, path: str) -> None:
    """Note that a follow-up is due.

    Args:
        person: who is to do it.
        key: the follow-up and its day, so that another day notifies again.
        title: what is to be done, on one line.
        due: the day, as 2026-11-23.
        path: the page with the follow-up.
    """
    notify(
        person,
        kinds.FOLLOW_UP_DUE,
        key=key,
        title=f"Due: {title}",
        sentence=f"The follow-up “{title}” is due on {due}.",
        path=path,
        data={"follow_up": title, "due": due},
    )


def checkpoints_stalled(job: EngineJob, stall: Stall) -> None:
    """Note, once for each stall, that a running job has stopped completing checkpoints."""
    name = clipped(str(job), LONGEST_NAME)
    notify(
        job.owner,
        kinds.STALLED,
        key=f"archived job {job.pk} since {job.completed_at}",
        title=f"“{name}” has stopped completing checkpoints",
        sentence=f"“{name}” in the archive: {stall.sentence}",
        path=f"/archive/{job.pk}",
        data={
            "archived_job": job.pk,
            "archived_job_name": str(job),
            "engine": job.engine,
            "usual_interval": stall.usual_interval,
            "restorable_at": stall.restorable_at,
            "waiting_since": stall.waiting_since,
        },
    )
