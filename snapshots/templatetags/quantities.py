"""The filters and tags of the pages; most of their words are in ``snapshots/quantities.py``."""

import json
from collections.abc import Mapping
from typing import Any

from django import template

from snapshots import quantities
from snapshots.domain.inventory.model import number_words
from snapshots.readers.engines import registry
from snapshots.web.pages import links

register = template.Library()

register.filter(quantities.thousands)
register.filter(quantities.duration)
register.filter(quantities.instant)
register.filter(quantities.file_size)
register.filter("as_value", quantities.value)
register.filter(quantities.epoch)
register.filter(quantities.amount)
register.filter(quantities.percent)


@register.filter
def format_name(format: str) -> str:
    """Return the name of a recording's format; a zip or tar is a package until it is unpacked."""
    return "package" if format == registry.PACKAGE else format


@register.filter
def counted(number: int, words: str) -> str:
    """Return a number with its noun: ``{{ 2|counted:"process,processes" }}`` is "2 processes"."""
    return quantities.counted(number, *words.split(","))


@register.filter
def checkpoint_number(checkpoint: Mapping[str, Any]) -> str:
    """Return the number of a checkpoint of the inventory, or that it is of unknown number."""
    return number_words(checkpoint["kind"], checkpoint["id"])


@register.filter
def percent_width(share: float) -> str:
    """Return a share as the width of a bar: 0.4217 is "42.17%"."""
    return f"{share * 100:.2f}%"


@register.filter
def date_text(moment: str) -> str:
    """Return a date of a payload to the minute, such as "2026-11-20 23:57"."""
    return moment[:16].replace("T", " ")


@register.filter
def snapshot_address(recording: int, snapshot: str) -> str:
    return links.to_snapshot(recording, snapshot)


@register.simple_tag(takes_context=True)
def page_address(context, parameter: str, number: int) -> str:
    """Return the address of this page with another page number."""
    query = context["request"].GET.copy()
    query[parameter] = number
    return f"?{query.urlencode()}"


@register.filter
def item(items: list, index: int):
    return items[index]


@register.filter
def as_json(item) -> str:
    return json.dumps(item, ensure_ascii=False)


@register.filter
def event_address(recording: int, place: dict) -> str:
    return links.to_workbench(recording, event=links.event(place))
