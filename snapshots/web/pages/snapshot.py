"""The page of one snapshot: verdict, witnesses, contents, restore."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from snapshots import access
from snapshots.answers import replay
from snapshots.answers.outcomes import colour_of, outcome_of
from snapshots.answers.unended import unended
from snapshots.domain.model import durations
from snapshots.domain.model.derived import ABOUT
from snapshots.domain.model.engine_words import words_of
from snapshots.domain.model.recording import SnapshotId
from snapshots.domain.reviewing.place_text import write_place
from snapshots.domain.reviewing.places import SnapshotPlace
from snapshots.domain.shrinking.description import PART_OF
from snapshots.domain.simulators.protocols.flooding import COLLECTS
from snapshots.files.recordings import open_recording
from snapshots.models import Job, Recording, Snapshot
from snapshots.payloads.jobs import job_detail
from snapshots.payloads.recordings import SnapshotSummary, snapshot_summary
from snapshots.problems import Conflict
from snapshots.services.jobs import request_restore
from snapshots.store.channel_counts import channel_counts
from snapshots.store.reader import StoredRecording
from snapshots.store.stored_snapshot import StoredSnapshot
from snapshots.web.figures.recording_times import recording_times
from snapshots.web.pages import links
from snapshots.web.pages.rendering import back, page
from snapshots.web.pages.reviews import notes_at
from snapshots.web.pages.snapshot_list import snapshot_list
from snapshots.web.pages.snapshot_rows import (
    ChannelRow,
    StateRow,
    answer_rows,
    channel_rows,
    silent_channels,
    smallest_part_link,
    state_rows,
    witnesses,
)
from snapshots.web.tables.sending import show
from webapp.accounts.auth import SignedInRequest

ROWS = 200
MOST_NOTES = 20
MOST_PIECES = 12  # in a row of who knew which piece when
MOST_DRAWN = 2_000  # processes in the picture of who recorded when


@page
@require_http_methods(["GET", "HEAD", "POST"])
def by_query(request: SignedInRequest, pk: int) -> HttpResponseBase:
    """Show a snapshot whose id no path can hold (see ``links``); without an id, the list of all."""
    if "id" not in request.GET:
        return snapshot_list(request, pk)
    return _snapshot(request, pk, request.GET["id"])


@page
@require_http_methods(["GET", "HEAD", "POST"])
def snapshot(request: SignedInRequest, pk: int, snapshot_id: str) -> HttpResponseBase:
    return _snapshot(request, pk, snapshot_id)


def _snapshot(request: SignedInRequest, pk: int, snapshot_id: str) -> HttpResponseBase:
    """Show a snapshot; a POST starts a restore."""
    recording = access.shown_recording(request.user, pk)
    row = access.snapshot(recording, snapshot_id)
    if request.method == "POST":
        return _restore(request, recording, row)
    place = write_place(SnapshotPlace(row.snapshot))
    context = _context(request, recording, row) | notes_at(request, recording, place)
    return show(request, "snapshots/snapshot/snapshot.html", context)


def _restore(request: HttpRequest, recording: Recording, row: Snapshot) -> HttpResponseBase:
    address = links.to_snapshot(recording.pk, row.snapshot)
    try:
        request_restore(request.user, recording, row)
    except Conflict as conflict:
        return back(request, address, conflict)
    return redirect(f"{address}#restore")


def _context(request: HttpRequest, recording: Recording, row: Snapshot) -> dict[str, Any]:
    stored = open_recording(recording)
    snapshot = stored.snapshot(SnapshotId(row.snapshot))
    summary = snapshot_summary(row, outcome_of(row))
    states = state_rows(snapshot, row.initiators)
    channels = channel_rows(snapshot)
    return {
        "recording": recording,
        "stored": stored,
        "stored_snapshot": snapshot,
        "snapshot": summary,
        "colour": colour_of(summary["outcome"]),
        "answers": answer_rows(row.answers),
        "witnesses": witnesses(recording.pk, row.snapshot, row.verdicts),
        "checkpoint_link": _checkpoint_link(stored, recording, row),
        "smallest_link": _smallest_link(row),
        "compare_link": links.to_comparison(recording.pk, row.snapshot),
        "proof_link": links.to_proof(recording.pk, row.snapshot),
        "restored_link": links.to_restored(recording.pk, row.snapshot),
        "states_link": links.to_states(recording.pk, row.snapshot),
        "workbench_link": links.to_workbench(recording.pk, snapshot=row.snapshot),
        "states": Paginator(states, ROWS).get_page(request.GET.get("processes")),
        "channels": Paginator(channels, ROWS).get_page(request.GET.get("channels")),
        "counts": _counts(stored, snapshot, request.GET.get("counts")),
        "silent_channels": silent_channels(snapshot, stored.manifest.header_extra),
        **_derived(stored, states, channels),
        "outside": recording.process_count - len(states),
        "recorded": sum(state.position is not None for state in states),
        "unended": unended(stored, row),
        "timeline": _timeline(recording, summary, states),
        "recorded_rows": sum(state.recorded_at is not None for state in states),
        "neighbours": _neighbours(recording, row),
        "took_means": durations.OF_SNAPSHOT,
        "knowledge": _knowledge(recording, row),
        **_last_restore(request, recording, row),
    }


def _derived(
    stored: StoredRecording, states: Sequence[StateRow], channels: Sequence[ChannelRow]
) -> dict[str, Any]:
    """Return the explanation and the notes of a derived recording, and the notes of a part.

    Such a recording recomputes what it recorded, so the recomputed columns are shown only if
    anything differs.
    """
    extra = stored.manifest.header_extra
    words = words_of(extra)
    if words is None:
        is_part = PART_OF in extra
        return {"has_recomputed": True, "part_notes": _notes(extra) if is_part else []}
    return {
        "about_derived": ABOUT,
        "words": words,
        "notes": _notes(extra),
        "has_recomputed": any(row.differs for row in states)
        or any(row.differs for row in channels),
    }


def _smallest_link(row: Snapshot) -> str:
    """Return the address of the smallest recording with the verdict; empty if it has no event."""
    if not row.verdicts:
        return ""
    return smallest_part_link(row.recording_id, row.snapshot, 0, row.verdicts[0])


def _notes(header_extra: Mapping[str, object]) -> list[str]:
    notes = header_extra.get("notes")
    texts = notes if isinstance(notes, list) else []
    return [note for note in texts if isinstance(note, str)][:MOST_NOTES]


def _counts(stored: StoredRecording, snapshot: StoredSnapshot, number: str | None) -> Page[Any]:
    """Return a page of the channels, each with its counts of section 3.1 of the paper."""
    channels: Page[Any] = Paginator(list(snapshot.channels), ROWS).get_page(number)
    channels.object_list = channel_counts(stored.tables, snapshot, list(channels))
    return channels


def _timeline(
    recording: Recording, summary: SnapshotSummary, states: Sequence[StateRow]
) -> dict[str, Any] | None:
    """Return the picture of who recorded when, or None if there is none."""
    recorded = {
        state.process: state.recorded_at for state in states if state.recorded_at is not None
    }
    if not 1 < len(recorded) <= MOST_DRAWN:
        return None
    ends = [at for at in (summary["began_at"], summary["ended_at"]) if at is not None]
    return recording_times(recorded, summary["initiators"], ends, recording.time_unit)


def _knowledge(recording: Recording, row: Snapshot) -> dict[str, Any] | None:
    """Return who knew the whole state when, soonest first; None if the run collected no pieces."""
    stored = open_recording(recording)
    is_said = stored.manifest.header_extra.get(COLLECTS) is True
    if not (is_said or (recording.parameters or {}).get("collect")):
        return None
    processes = replay.knowledge(stored, row.snapshot)["processes"]
    rows = [
        {"process": process, **knowledge, "learned": _learned(knowledge["pieces"])}
        for process, knowledge in processes.items()
    ]
    rows.sort(key=lambda item: item["whole"]["at"] if item["whole"] else math.inf)
    return {
        "rows": rows[:ROWS],
        "all_rows": rows,
        "hidden": len(rows[ROWS:]),
        "whole": sum(item["whole"] is not None for item in rows),
    }


def _learned(pieces: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, Any]]:
    """Return the first pieces that a process knew, each with its time, soonest first."""
    ordered = sorted(pieces.items(), key=lambda item: item[1]["index"])
    return [(owner, place["at"]) for owner, place in ordered[:MOST_PIECES]]


def _checkpoint_link(stored: StoredRecording, recording: Recording, row: Snapshot) -> str:
    """Return the address of the checkpoint's page, or an empty text for other snapshots."""
    if row.snapshot not in stored.checkpoint_names:
        return ""
    return links.to_checkpoint(recording.pk, row.snapshot)


def _neighbours(recording: Recording, row: Snapshot) -> dict[str, str]:
    rows = recording.snapshots.filter(code__in=[row.code - 1, row.code + 1])
    addresses = {item.code: links.to_snapshot(recording.pk, item.snapshot) for item in rows}
    return {"previous": addresses.get(row.code - 1, ""), "next": addresses.get(row.code + 1, "")}


def _last_restore(request: HttpRequest, recording: Recording, row: Snapshot) -> dict[str, Any]:
    """Return the job of the person's newest restore of this snapshot."""
    jobs = access.jobs(request.user).filter(recording=recording, snapshot=row.snapshot)
    job = jobs.filter(kind=Job.Kind.RESTORE).select_related("recording").first()
    return {"row": job, "job": job_detail(job) if job else None}
