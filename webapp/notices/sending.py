"""Send notices that are due, try again with growing pauses, and keep a log of the attempts.

This is no Celery task. It would wait behind jobs of hours, and Redis would deliver it again while
it waits for its next attempt. The rows say what is to be sent, and each worker looks at them.
"""

import logging
import time
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from django.db import transaction
from django.db.models import Min, QuerySet
from django.utils import timezone

from webapp.notices import events, mail, posting
from webapp.notices.models import Attempt, Delivery, Notice, Webhook
from webapp.notices.outcomes import NotDelivered

logger = logging.getLogger(__name__)

PAUSES = (
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    *[timedelta(hours=hours) for hours in (2, 5, 10, 14, 20, 24)],
)
"""Between one attempt and the next: ten attempts in a little more than three days."""
MOST_OF_ONE = 2  # deliveries of one person or team that a worker sends at once
CLAIM = timedelta(minutes=2)  # after which another worker tries what one began and never ended
KEPT = timedelta(days=30)


def claim_due(most: int, under_way: Sequence[int] = ()) -> list[Delivery]:
    """Return deliveries that are due, and keep other workers from them for a while.

    Owners take turns, so that receivers that never answer delay nobody else: whoever has the
    fewest deliveries under way comes first, and after that whoever has waited longest.

    Args:
        most: how many there may be.
        under_way: the owner of each delivery that this worker is sending.
    """
    now, busy = timezone.now(), Counter(under_way)
    due = Delivery.objects.filter(state=Delivery.State.WAITING, next_at__lte=now)
    oldest = due.order_by().values_list("notice__owner").annotate(Min("next_at"))
    owners = sorted((busy[owner], at, owner) for owner, at in oldest if busy[owner] < MOST_OF_ONE)
    turns = [
        (turn, row.next_at, row.pk, row)
        for _, _, owner in owners[:most]
        for turn, row in enumerate(_oldest(due, owner, MOST_OF_ONE - busy[owner]), busy[owner])
    ]
    rows = [row for *_, row in sorted(turns)[:most]]
    return [row for row in rows if _claim(row, now + CLAIM)]


def _oldest(due: QuerySet[Delivery], owner: int, most: int) -> QuerySet[Delivery]:
    rows = due.filter(notice__owner=owner).select_related("notice__owner", "webhook")
    return rows.order_by("next_at", "pk")[:most]


def _claim(delivery: Delivery, until) -> bool:
    same = Delivery.objects.filter(
        pk=delivery.pk, state=Delivery.State.WAITING, next_at=delivery.next_at
    )
    return bool(same.update(next_at=until))


def deliver(delivery: Delivery) -> Attempt:
    """Try a delivery once, and note how it went."""
    began = time.monotonic()
    attempt = Attempt(delivery=delivery)
    try:
        attempt.status, failure = _send(delivery), None
    except NotDelivered as problem:
        attempt.status, attempt.error, failure = problem.status, str(problem), problem
    attempt.milliseconds = round(1000 * (time.monotonic() - began))
    _note(delivery, attempt, failure)
    return attempt


def _send(delivery: Delivery) -> int | None:
    """Send a notice; return the receiver's status, None for e-mail. Raises: NotDelivered."""
    if not events.is_heard(delivery.notice.owner):
        raise NotDelivered("The account is closed.", is_final=True)
    if delivery.webhook is None:
        mail.send(delivery.notice)
        return None
    if not delivery.webhook.is_on:
        raise NotDelivered("The webhook is switched off.", is_final=True)
    return posting.post(delivery, delivery.webhook)


@transaction.atomic
def _note(delivery: Delivery, attempt: Attempt, failure: NotDelivered | None) -> None:
    if not Delivery.objects.filter(pk=delivery.pk).exists():
        return  # its webhook was deleted meanwhile
    attempt.save()
    delivery.tries += 1
    is_over = failure is None or failure.is_final or delivery.tries > len(PAUSES)
    if is_over:
        delivery.state = Delivery.State.FAILED if failure else Delivery.State.DELIVERED
    else:
        delivery.next_at = timezone.now() + PAUSES[delivery.tries - 1]
    delivery.save(update_fields=["tries", "state", "next_at"])
    if failure is not None and failure.is_gone and delivery.webhook is not None:
        same = Webhook.objects.filter(pk=delivery.webhook.pk)
        same.update(is_on=False, off_reason=str(failure))


def send_again(delivery: Delivery) -> None:
    """Let a delivery be tried again from the first attempt on, now."""
    fields = {"state": Delivery.State.WAITING, "tries": 0, "next_at": timezone.now()}
    Delivery.objects.filter(pk=delivery.pk).update(**fields)
    delivery.refresh_from_db()


def forget_old() -> None:
    """Delete notices that are older than KEPT, with their deliveries and attempts."""
    Notice.objects.filter(at__lt=timezone.now() - KEPT).delete()
