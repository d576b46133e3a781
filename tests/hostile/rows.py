"""Rows whose texts are payloads, as workers, other people and other servers leave them.

``plant`` runs in ``manage.py shell`` of a running stack. No request makes these rows at once: the
message of a refused job, the log of a webhook, what an engine reports of its jobs.
"""

import json
from collections.abc import Iterator
from datetime import date, timedelta
from itertools import pairwise

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from snapshots.archive import polls
from snapshots.domain.front.model import Poll, PolledEdge, PolledVertex
from snapshots.models import (
    Collector,
    EngineCheckpoint,
    EngineJob,
    EngineRescale,
    Job,
    Recording,
    ResumableUpload,
)
from snapshots.reviews.models import Entry, Exhibit, Participant, Review, TimelineRow
from tests.hostile.payloads import ALL
from webapp.notices.models import Attempt, Delivery, Notice, Webhook
from webapp.teams.models import Invitation, Membership, Team

LONGEST_TITLE = 90
MOST_DRAWN = 60  # vertices of a barrier front


def plant() -> None:
    """Plant all rows, and print the addresses of the pages that show them."""
    owner = User.objects.get(username="owner@localhost")
    with transaction.atomic():
        pages = [
            *refusals(owner),
            *unfinished(owner),
            *archived(owner),
            *teams(owner),
            *notices(owner),
        ]
        pages += reviews(owner)
    print(json.dumps(pages))


def refusals(owner: User) -> Iterator[str]:
    """Plant recordings whose jobs were refused, with messages that quote the input."""
    defects = [
        {"code": text, "severity": "kept", "sentence": text, "line": 1, "field": text,
         "process": text, "count": 1}
        for text in ALL
    ]  # fmt: skip
    whole = "\n".join(ALL)
    error = {
        "type": "/problems/refused",
        "title": whole[:3000],
        "status": 422,
        "detail": whole,
        "excerpt": whole,
        "field": whole,
        "where": whole,
        "cause": whole,
        "line": 1,
        "choices": [{"format": text[:100], "name": text, "events": 1} for text in ALL],
        "defects": defects[:100],
        "defects_total": len(defects),
    }
    for status in ("failed", "refused"):
        row = Recording.objects.create(
            owner=owner, name=ALL[0], source_name=whole[:250], status=status, error=error,
            defects=defects[:100], defects_total=len(defects), format=whole[:400],
            parameters={"recognised": whole},
        )  # fmt: skip
        job = Job.objects.create(
            kind="ingest", state=status, owner=owner, recording=row, error=error,
            phase=whole[:60], expression=whole, snapshot=whole, worker=whole[:100],
        )  # fmt: skip
        yield f"/recordings/{row.pk}"
    yield from (f"/recordings/{row.pk}/defects", f"/jobs/{job.pk}", "/", "/jobs")


def unfinished(owner: User) -> Iterator[str]:
    """Plant uploads in pieces whose files are called by payloads."""
    tomorrow = timezone.now() + timedelta(days=1)
    for number, text in enumerate(ALL):
        ResumableUpload.objects.create(
            by=owner, upload=f"{number:032x}", metadata={"filename": text, "name": text},
            length=10, offset=5, expires_at=tomorrow,
        )  # fmt: skip
    yield "/"


def archived(owner: User) -> Iterator[str]:
    """Plant collectors, and jobs of engines with checkpoints."""
    for text in ALL:
        Collector.objects.create(
            owner=owner, engine="flink", url=text[:300], job_key=text[:64], is_collecting=False,
            last_error=text, last_polled_at=timezone.now(),
        )  # fmt: skip
    job = EngineJob.objects.create(
        owner=owner, engine="flink", key=ALL[0][:128], name=ALL[0], state=ALL[1],
        heard_from=ALL[2], heard_at=timezone.now(), counts=dict.fromkeys(ALL, 1),
    )  # fmt: skip
    for number, text in enumerate(ALL, 1):
        EngineCheckpoint.objects.create(
            job=job, number=number, kind=text, status="failed", failure=text, told_phase=text,
            path=text, slowest=text, cause=text, phase=text, version=1, triggered_at=number,
        )  # fmt: skip
    for number, text in enumerate(ALL):
        EngineRescale.objects.create(
            job=job, uuid=f"{number}", started_at=number, state=text[:200], cause=text[:200],
            reason=text[:200], vertices=[{"id": text, "name": text, "before": 1, "after": 2}],
        )  # fmt: skip
    names = ALL[:MOST_DRAWN]
    vertices = [PolledVertex(text, text, 2, 1, (1,)) for text in names]
    edges = [PolledEdge(*pair, ship=pair[0]) for pair in pairwise(names)]
    polls.keep(job, Poll(1, 5, 1, False, tuple(vertices), tuple(edges), tuple(ALL)))
    yield f"/archive/{job.pk}/checkpoints/0/1/front"
    yield from ("/archive", f"/archive/{job.pk}", f"/archive/{job.pk}/checkpoints/0/1")
    yield f"/archive/{job.pk}/compare?slow=2&healthy=1"


def teams(owner: User) -> Iterator[str]:
    """Plant teams, the people in one of them, and whom it invites."""
    first = None
    for number, text in enumerate(_packed(LONGEST_TITLE)):
        account = User.objects.create(username=f"team of payloads {number}")
        team = Team.objects.create(account=account, name=text)
        Membership.objects.create(team=team, person=owner, role="owner")
        first = first or team
    assert first is not None
    for number, text in enumerate(ALL):
        name = f"{text[:120]} in the team {number}"
        person = User.objects.create(username=name, email=name)
        Membership.objects.create(team=first, person=person, role="viewer")
        Invitation.objects.create(
            team=first, address=text[:150], role="viewer", token_hash=f"payload {number}",
            made_by=owner, expires_at=timezone.now() + timedelta(days=7),
        )  # fmt: skip
    shared = Recording.objects.create(owner=first.account, name=ALL[3], status="failed")
    yield from ("/teams", f"/teams/{first.pk}", f"/teams/{first.pk}/delete")
    yield from (f"/recordings/{shared.pk}/sharing", f"/?team={first.pk}")


def notices(owner: User) -> Iterator[str]:
    """Plant webhooks that are off, and the log of what was sent to one of them."""
    hooks = [
        Webhook.objects.create(
            owner=owner, url=text[:500], secret="whsec_x", kinds=[], is_on=False, off_reason=text
        )
        for text in ALL
    ]
    for number, text in enumerate(ALL):
        notice = Notice.objects.create(
            owner=owner, kind=text[:40], key=f"payload {number}", title=text, sentence=text,
            path=text[:500], data={text: text},
        )  # fmt: skip
        delivery = Delivery.objects.create(notice=notice, webhook=hooks[0], state="failed")
        Attempt.objects.create(delivery=delivery, error=text, milliseconds=1)
    yield from ("/account/notifications", f"/account/notifications/webhooks/{hooks[0].pk}")


def reviews(owner: User) -> Iterator[str]:
    """Plant a review with people, exhibits and a timeline, and follow-ups in its log."""
    whole = "\n".join(ALL)
    review = Review.objects.create(
        owner=owner, opened_by=owner, title=whole[:200], summary=whole[:20_000]
    )
    Participant.objects.create(review=review, person=owner, part=whole[:100])
    job = EngineJob.objects.filter(owner=owner, key=ALL[0][:128]).get()
    Exhibit.objects.create(review=review, engine_job=job, name=ALL[0])
    group = TimelineRow.objects.create(review=review, is_group=True, text=ALL[0], position=0)
    for number, text in enumerate(ALL, 1):
        Exhibit.objects.create(review=review, name=text, place=text)
        TimelineRow.objects.create(
            review=review, position=number, text=text, kind="finding", sentence=text,
            added_by=owner, group=group if number % 2 else None,
        )  # fmt: skip
        entry = Entry.objects.create(
            engine_job=job, number=number, kind="follow-up", text=text, sentence=text, place=text,
            author=owner, due_on=date(2100, 1, 1),
        )  # fmt: skip
        TimelineRow.objects.create(
            review=review, position=1000 + number, entry=entry, text=text, sentence=text,
            original_text=text, original_kind="follow-up", is_hidden=number % 2 == 0,
        )  # fmt: skip
        TimelineRow.objects.create(review=review, position=2000 + number, is_group=True, text=text)
    yield from ("/reviews", f"/reviews/{review.pk}", f"/reviews/{review.pk}/delete")
    yield from ("/follow-ups", f"/archive/{job.pk}/notes")


def _packed(longest: int) -> Iterator[str]:
    """Yield texts of at most ``longest`` characters that hold the beginnings of all payloads."""
    text = ""
    for payload in ALL:
        if text and len(text) + len(payload) >= longest:
            yield text
            text = ""
        text = f"{text} {payload}".strip()[:longest]
    yield text
