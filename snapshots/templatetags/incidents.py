"""Tags of reviews: opening one, and what somebody saved while a form was filled."""

from collections.abc import Mapping
from typing import Any

from django import template

from snapshots import access
from snapshots.models import Recording
from snapshots.reviews.models import Review
from webapp.teams.roles import Role

register = template.Library()

OFFERED = 5  # reviews that are not closed, the last changed first


@register.inclusion_tag("snapshots/incidents/menu.html", takes_context=True)
def review_menu(context: template.Context, subject: Any, place: str = "") -> dict[str, Any]:
    """Offer to open a review of a recording or archived job, and to add it to an open one.

    Args:
        subject: the recording or the archived job.
        place: the text of a checkpoint or snapshot in it; empty for all.
    """
    user = context["request"].user
    rows = access.reviews(user).filter(owner__in=access.holders(user, Role.EDITOR))
    rows = rows.exclude(status=Review.Status.CLOSED)
    offered = list(rows[:OFFERED])
    return {
        "csrf_token": context["csrf_token"],
        "field": "recording" if isinstance(subject, Recording) else "archived_job",
        "subject": subject,
        "place": place,
        "reviews": offered,
        "left_out": rows.count() - OFFERED if len(offered) == OFFERED else 0,
    }


@register.inclusion_tag("snapshots/incidents/newer.html")
def newer(fields: Mapping[str, Any] | str | None, name: str) -> dict[str, Any]:
    """Show beside a field of a form what was saved in it since the form was opened.

    Args:
        fields: what saving the form again would replace, by field; empty if that is nothing.
        name: the name of the field.
    """
    there = fields if isinstance(fields, Mapping) else {}  # a template has "" for what it lacks
    return {"name": name, "is_newer": name in there, "saved": there.get(name)}
