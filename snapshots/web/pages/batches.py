"""Show where the time of a query's batches went, by the progress reports in the upload."""

from collections.abc import Mapping
from typing import Any

from django.core.paginator import Paginator

from snapshots.answers import inventory
from snapshots.models import Recording

SPARK = "spark-streaming"  # the format
WHOLE = "triggerExecution"  # the phase that holds all others
OTHER = "in no phase"
PER_PAGE = 100
PHASES = {
    "latestOffset": ("looking for new input", "series-2"),
    "getOffset": ("looking for new input", "series-2"),
    "getBatch": ("getting the input", "series-6"),
    "queryPlanning": ("planning the query", "series-5"),
    "walCommit": ("writing down what the batch is to read", "series-4"),
    "addBatch": ("running the batch", "series-1"),
    "commitBatch": ("committing at the sink", "series-7"),
    "commitOffsets": ("writing down that the batch is done", "series-3"),
    OTHER: ("not reported", "lane"),
}
"""What Spark does in each phase, in the order of the phases, and the colour of the phase."""


def has_times(upload: Mapping[str, Any]) -> bool:
    """Return whether the time of any batch is known."""
    return any(item.get("phases") for item in upload["checkpoints"])


def listed(recording: Recording, page_number: str | None) -> dict[str, Any]:
    """Return a page of the batches, or nothing for a recording that is no upload of Spark."""
    if recording.format != SPARK:
        return {}
    upload = inventory.opened(recording).upload
    if not has_times(upload):
        return {"no_reports": True}
    numbered = list(enumerate(upload["checkpoints"]))
    longest = max(filter(None, (_took(item) for _, item in numbered)), default=1)
    page = Paginator(numbered, PER_PAGE).get_page(page_number)
    rows = [_row(recording.pk, number, item, longest) for number, item in page]
    present = {part["name"] for row in rows for part in row["parts"]}
    legend = [
        {"name": name, "words": words, "colour": colour}
        for name, (words, colour) in PHASES.items()
        if name in present
    ]
    every_row = (_row(recording.pk, number, item, longest) for number, item in numbered)
    return {"batches": rows, "all_batches": every_row, "batch_page": page, "legend": legend}


def _took(item: Mapping[str, Any]) -> int | None:
    phases = item.get("phases") or {}
    return phases.get(WHOLE, sum(phases.values()) if phases else None)


def _row(pk: int, number: int, item: Mapping[str, Any], longest: int) -> dict[str, Any]:
    """Return a batch with the phases of its time, as percent of the longest batch."""
    took = _took(item)
    parts = {name: ms for name, ms in (item.get("phases") or {}).items() if name != WHOLE and ms}
    if took is not None and (rest := took - sum(parts.values())) > 0:
        parts[OTHER] = rest
    ranks = {name: rank for rank, name in enumerate(PHASES)}
    in_order = sorted(parts, key=lambda name: (ranks.get(name, len(ranks)), name))
    bars = [_part(name, parts[name], longest) for name in in_order]
    return {
        **item,
        "address": f"/recordings/{pk}/contents/{number}",
        "took": took,
        "parts": bars,
        "longest": max(bars, key=lambda part: part["ms"], default=None),
    }


def _part(name: str, ms: int, longest: int) -> dict[str, Any]:
    words, colour = PHASES.get(name, ("", "lane"))
    share = f"{min(100 * ms / longest, 100):.2f}"
    return {"name": name, "ms": ms, "share": share, "words": words, "colour": colour}
