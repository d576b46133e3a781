"""Close what visitors have open as soon as their public link no longer works."""

from functools import partial

from django.db import transaction
from django.db.models import QuerySet
from django.dispatch import receiver

from snapshots.jobs import live
from webapp.accounts import signals
from webapp.links.models import PublicLink
from webapp.teams.signals import membership_changed


def recheck_visitors(links: QuerySet[PublicLink]) -> None:
    """Let the pages that these links have opened check after the commit whether they may stay."""
    for recording in set(links.values_list("recording_id", flat=True)) - {None}:
        transaction.on_commit(partial(live.visitors_may_have_to_leave, recording), robust=True)


@receiver(membership_changed)
def membership_ended_or_changed(person_id: int, **_) -> None:
    """A link ends when its maker could not make it again."""
    recheck_visitors(PublicLink.objects.filter(made_by_id=person_id))


@receiver(signals.account_closed)
def account_closed(user_id: int, **_) -> None:
    """A link ends when the account of its maker is closed."""
    recheck_visitors(PublicLink.objects.filter(made_by_id=user_id))
