"""The filters of the pages; what they say is in ``snapshots/quantities.py``."""

import json

from django import template

from snapshots import quantities
from snapshots.web.pages import links

register = template.Library()

register.filter(quantities.thousands)
register.filter(quantities.duration)
register.filter(quantities.instant)
register.filter(quantities.file_size)
register.filter("as_value", quantities.value)
register.filter(quantities.epoch)
register.filter(quantities.amount)


@register.filter
def counted(number: int, words: str) -> str:
    """``{{ 2|counted:"process,processes" }}`` is "2 processes"."""
    return quantities.counted(number, *words.split(","))


@register.filter
def percent(share: float) -> str:
    """0.4217 is "42 %"."""
    return f"{share * 100:.0f} %"


@register.filter
def date_text(moment: str) -> str:
    """A date of a payload: "2026-11-20T23:57:45.123Z" is "2026-11-20 23:57"."""
    return moment[:16].replace("T", " ")


@register.filter
def snapshot_address(recording: int, snapshot: str) -> str:
    return links.to_snapshot(recording, snapshot)


@register.simple_tag(takes_context=True)
def page_address(context, parameter: str, number: int) -> str:
    """This page with another page number; what else the address holds stays."""
    query = context["request"].GET.copy()
    query[parameter] = number
    return f"?{query.urlencode()}"


@register.filter
def item(items: list, place: int):
    return items[place]


@register.filter
def as_json(item) -> str:
    return json.dumps(item, ensure_ascii=False)


@register.filter
def event_address(recording: int, place: dict) -> str:
    return links.to_workbench(recording, event=links.event(place))
