"""What the tests of notices share: events, jobs that end, and stand-ins for threads."""

import ipaddress
from concurrent.futures import Executor, Future
from datetime import timedelta

from snapshots.jobs import leases
from snapshots.models import Job, Recording
from webapp.notices import events, kinds
from webapp.notices.models import Delivery, Notice, Webhook

LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))


class Here(Executor):
    """Runs in this thread what a worker runs in others, which would not see the test's rows."""

    def submit(self, function, /, *arguments):
        future = Future()
        future.set_result(function(*arguments))
        return future


class Never(Executor):
    """Begins everything and ends nothing, as with receivers that never answer."""

    def __init__(self):
        self.owners = []

    def submit(self, function, delivery, /):
        self.owners.append(delivery.notice.owner.username)
        return Future()


def later(**by: float) -> None:
    """Move everything that waits into the past."""
    for row in Delivery.objects.filter(state="waiting"):
        Delivery.objects.filter(pk=row.pk).update(next_at=row.next_at - timedelta(**by))


def happened(owner, key="1", kind=kinds.JOB_DONE, **fields) -> Notice | None:
    given = {"title": "It is done", "sentence": "The job is done.", "path": "/jobs/7"} | fields
    return events.notify(owner, kind, key=key, **given)


def a_job(owner, kind=Job.Kind.INGEST) -> leases.Lease:
    """Return the lease on a running job."""
    recording = Recording.objects.create(owner=owner, name="two banks")
    job = Job.objects.create(kind=kind, owner=owner, recording=recording)
    lease = leases.claim(job.pk)
    assert lease is not None
    return lease


def ended(owner, verdicts: dict[str, int], **fields) -> leases.Lease:
    lease = a_job(owner)
    lease.write(state=Job.State.DONE, result={"verdicts": verdicts}, **fields)
    return lease


def address(webhook: Webhook) -> str:
    return f"/account/notifications/webhooks/{webhook.pk}"
