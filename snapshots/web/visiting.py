"""What the visitor of a public link gets of what members get whole: the listed fields alone.

A new field of a recording or a review stays with members until it is listed here. Who uploaded
something, teams, jobs, files and how a format was recognised are not listed.
"""

from collections.abc import Mapping
from typing import Any

from webapp.links.models import PublicLink

RECORDING = (
    *("id", "name", "status", "sample", "time_unit", "counts", "extent", "notes"),
    *("is_derived", "worst"),
)
WORKBENCH = ("topology", "snapshots", "is_dataflow", "coordinators", "urls")
REVIEW = (
    *("title", "severity", "status", "summary", "summary_html", "spans", "rows", "hidden"),
    "exhibits",
)
EXHIBIT = ("name",)


def workbench(data: Mapping[str, Any], link: PublicLink, *, has_place: bool) -> dict[str, Any]:
    """Return the data of the workbench for a visitor.

    Args:
        data: the data that members get.
        link: the visitor's link, whose view is shown first.
        has_place: whether the address names another place to show.
    """
    return {
        **_listed(data, WORKBENCH),
        "recording": _listed(data["recording"], RECORDING),
        "view": None if has_place else link.view,
        "is_visitor": True,
        "shows_notes": link.with_notes,
    }


def review(detail: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page of a review shows to a visitor."""
    shown = _listed(detail, REVIEW)
    return {**shown, "exhibits": [_listed(each, EXHIBIT) for each in shown["exhibits"]]}


def _listed(fields: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: fields[name] for name in names}
