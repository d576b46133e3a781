"""The tags that say whose something is, and what the person may do with it."""

from typing import Any

from django import template

from snapshots import access

register = template.Library()


@register.filter
def may_change(user, row) -> bool:
    """Tell whether a person may change, move and delete a row that they see."""
    return access.may_change(user, row)


@register.inclusion_tag("teams/choice.html", takes_context=True)
def team_choice(context: template.Context, title: str, chosen: Any = None) -> dict[str, Any]:
    """Offer the teams into which the person may put something; nothing if there is none.

    Args:
        title: the words before the choice.
        chosen: what has an owner, or the number of a team, chosen before the person chooses.
    """
    request = context["request"]
    return {
        "title": title,
        "teams": access.editable_teams(request.user),
        "chosen": request.POST.get("team") or _number_of(chosen),
    }


def _number_of(chosen: Any) -> str:
    return chosen if isinstance(chosen, str) else str(getattr(chosen, "owner_id", ""))
