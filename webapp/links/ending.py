"""Withdraw public links that have ended, and close at once what their visitors have open."""

from functools import partial

from django.db import transaction
from django.db.models import QuerySet
from django.dispatch import receiver

from snapshots import access
from snapshots.jobs import live
from webapp.accounts import audit, signals
from webapp.links.models import PublicLink
from webapp.teams.signals import membership_changed


def recheck_visitors(links: QuerySet[PublicLink]) -> None:
    """Let the pages that these links have opened check after the commit whether they may stay."""
    for recording in set(links.values_list("recording_id", flat=True)) - {None}:
        transaction.on_commit(partial(live.visitors_may_have_to_leave, recording), robust=True)


def withdraw_ended(links: QuerySet[PublicLink]) -> None:
    """Withdraw those that no longer last, so that none of them works again later."""
    ended = links.exclude(pk__in=access.public_links_that_last().values("pk"))
    with transaction.atomic():
        for link in ended.select_related("owner", "recording", "review"):
            audit.note(
                audit.PUBLIC_LINK_WITHDRAWN, None, link.title, person=link.owner, uses=link.uses
            )
            recheck_visitors(links.filter(pk=link.pk))
            link.delete()


@receiver(membership_changed)
def membership_ended_or_changed(person_id: int, **_) -> None:
    """Withdraw the links that their maker could not make again."""
    withdraw_ended(PublicLink.objects.filter(made_by_id=person_id))


@receiver(signals.account_closed)
def account_closed(user_id: int, **_) -> None:
    """Withdraw the links of a closed account."""
    withdraw_ended(PublicLink.objects.filter(made_by_id=user_id))
