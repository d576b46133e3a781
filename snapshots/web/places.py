"""The addresses of Cutline at which places are shown."""

from collections.abc import Mapping
from urllib.parse import urlencode

from django.urls import reverse

from snapshots.domain.reviewing import places
from snapshots.domain.reviewing.places import Place
from snapshots.models import EngineJob
from snapshots.reviews.resolving import Resolved, archived_number
from snapshots.reviews.subjects import Subject
from snapshots.web.pages import links

LONGEST_CUT = 1500  # characters, as in static/js/lib/url-state.js


def address(subject: Subject, place: Place, resolved: Resolved) -> str | None:
    """Return the address of the page that shows a place; None if it is not there."""
    if not resolved.has_page:
        return None
    if isinstance(subject, EngineJob):
        return _archived(subject, place)
    match place:
        case places.SnapshotPlace(snapshot) | places.SnapshotChannelPlace(snapshot, _):
            return links.to_snapshot(subject.pk, snapshot)
        case places.CheckpointPlace(checkpoint) | places.SubtaskPlace(checkpoint):
            return _checkpoint(subject.pk, checkpoint, resolved)
        case places.StatePlace():
            return _state(subject.pk, place, resolved)
    return workbench(subject, place, resolved)


def workbench(subject: Subject, place: Place, resolved: Resolved) -> str | None:
    """Return the address of the workbench at a place; None if the workbench does not show it."""
    if not resolved.is_there or isinstance(subject, EngineJob):
        return None
    view = _view(place, resolved)
    return None if view is None else links.to_workbench(subject.pk, **view)


def _view(place: Place, resolved: Resolved) -> Mapping[str, str] | None:
    """Return the parameters of the workbench (docs/workbench.md, "Links into it")."""
    match place:
        case places.MomentPlace(axis, value):
            return {"axis": axis, "t": str(value)}
        case places.ProcessPlace(process):
            return {"process": process}
        case places.EventPlace(process, index):
            return {"event": links.event({"process": process, "index": index})}
        case places.ChannelPlace(channel):
            return {"channel": channel}
        case places.MessagePlace(channel, message):
            return _at(resolved) | {"message": f"{message}@{channel}"}
        case places.CutPlace():
            text = links.cut(resolved.positions)
            return _at(resolved) | {"cut": text} if len(text) <= LONGEST_CUT else None
        case places.SnapshotPlace(snapshot):
            return {"snapshot": snapshot}
        case places.SnapshotChannelPlace(snapshot, channel):
            return {"snapshot": snapshot, "channel": channel}
    return None


def _at(resolved: Resolved) -> dict[str, str]:
    return {} if resolved.at is None else {"t": str(resolved.at)}


def _checkpoint(recording: int, checkpoint: str, resolved: Resolved) -> str:
    if resolved.number is None:
        return links.to_checkpoint(recording, checkpoint)
    return reverse("checkpoint-inventory", args=[recording, resolved.number])


def _state(recording: int, place: places.StatePlace, resolved: Resolved) -> str:
    query = {"operator": place.operator, "state": place.state, "q": place.key}
    page = reverse("checkpoint-inventory", args=[recording, resolved.number])
    return f"{page}?{urlencode(query)}#entries"


def _archived(job: EngineJob, place: Place) -> str | None:
    if not isinstance(place, places.CheckpointPlace | places.SubtaskPlace):
        return None
    number = archived_number(place.checkpoint)
    return reverse("archived-checkpoint", args=[job.pk, place.pipeline, number])
