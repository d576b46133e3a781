"""The pages that answer whether everything is there that a restore of checkpoints reads."""

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from snapshots import access
from snapshots.answers import inventory
from snapshots.answers.restore_check import restore_check, upload_check
from snapshots.domain.inventory.restore_check import NOT_KNOWN, NOT_RESTORABLE, RESTORABLE
from snapshots.web.pages.rendering import page
from snapshots.web.tables.sending import show

ROWS = 100  # checkpoints on a page
MOST_FILES = 200
WORDS = {RESTORABLE: "yes", NOT_RESTORABLE: "no", NOT_KNOWN: "not known"}


@page
@require_safe
def of_upload(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Show the answers about all checkpoints, and the files that are absent or not needed."""
    recording = access.recording(request.user, pk)
    check = upload_check(inventory.opened(recording))
    checks = [worded(one) for one in sorted(check["checks"], key=lambda one: not one["decides"])]
    context = {
        "recording": recording,
        "check": check,
        "checks": Paginator(checks, ROWS).get_page(request.GET.get("page")),
        "has_others": any(not one["decides"] for one in checks),
        **_clipped("absent", check),
        **_clipped("unneeded", check),
    }
    return show(request, "snapshots/restore_check/upload.html", context)


@page
@require_safe
def of_checkpoint(request: HttpRequest, pk: int, number: int) -> HttpResponseBase:
    """Show the answer about one checkpoint, with every file that a restore reads."""
    recording = access.recording(request.user, pk)
    opened = inventory.opened(recording)
    check = restore_check(opened, number)
    last = len(opened.upload["checkpoints"]) - 1
    context = {
        "recording": recording,
        "number": number,
        "engine": opened.upload["engine"],
        "check": check,
        "has_reasons": len(check["witnesses"]) + len(check["unknown"]) > 1,
        "files": check["files"][:MOST_FILES],
        "files_hidden": check["files_total"] - min(MOST_FILES, len(check["files"])),
        "has_sizes": any(file["bytes"] is not None for file in check["files"]),
        "previous": number - 1 if number else None,
        "next": number + 1 if number < last else None,
    }
    return show(request, "snapshots/restore_check/checkpoint.html", context)


def worded(check: dict[str, Any]) -> dict[str, Any]:
    """Add the answer in a word, and the first reason for it."""
    reasons = [*check["witnesses"], *check["unknown"]]
    return check | {
        "word": WORDS[check["answer"]],
        "reason": reasons[0] if reasons else "",
        "more": max(0, len(reasons) - 1),
    }


def _clipped(name: str, check: dict[str, Any]) -> dict[str, Any]:
    """Return the files that are shown of a list, and how many are not."""
    shown = check[name][:MOST_FILES]
    return {name: shown, f"{name}_hidden": check[f"{name}_total"] - len(shown)}
