"""Keep the rescales of a job, of which Flink remembers as many as its setting says."""

from collections.abc import Mapping
from dataclasses import asdict
from http import HTTPStatus
from typing import Any

from snapshots.archive.fetching import Client, NotAnswered
from snapshots.fields import clipped, storable
from snapshots.models import EngineJob, EngineRescale
from snapshots.readers.engines.flink.rest.fields import text
from snapshots.readers.engines.flink.rest.rescales import (
    ADAPTIVE,
    Rescale,
    rescale_of,
    rescales_of,
)

MOST_AT_ONCE = 50  # rescales whose vertices are asked for in one round
MOST_SHOWN = 100
_LONGEST = 200


def keep_rescales(client: Client, row: EngineJob, job: Mapping[str, Any]) -> None:
    """Ask for the rescales of a job with the adaptive scheduler, and keep what is new.

    ``job`` is Flink's answer about the job. A Flink before 2.3, or one that keeps no history,
    refuses the question; then nothing is known. Raises: NotAnswered.
    """
    if (text(dict(job), "schedulerType") or "").lower() != ADAPTIVE:
        return
    path = f"/jobs/{row.key}/rescales"
    try:
        listed = rescales_of(client.get(f"{path}/history"))
    except NotAnswered as silence:
        if silence.status is not None:
            return
        raise
    over = set(row.rescales.filter(ended_at__isnull=False).values_list("uuid", flat=True))
    new = [rescale for rescale in listed if rescale.uuid not in over]
    for rescale in sorted(new, key=lambda each: each.started_at or 0)[:MOST_AT_ONCE]:
        _keep(row, _detailed(client, f"{path}/details/{rescale.uuid}", rescale))


def _detailed(client: Client, path: str, listed: Rescale) -> Rescale:
    """Return a rescale with its vertices, or as it was listed if Flink has forgotten it since.

    Raises: NotAnswered.
    """
    try:
        detailed = rescale_of(client.get(path))
    except NotAnswered as silence:
        if silence.status == HTTPStatus.NOT_FOUND:
            return listed
        raise
    return detailed if detailed and detailed.uuid == listed.uuid else listed


def shown(job: EngineJob) -> list[dict[str, Any]]:
    """Return the newest rescales of a job, each as an ``ArchivedRescale``."""
    return [
        {
            "uuid": row.uuid,
            "started_at": row.started_at,
            "ended_at": row.ended_at,
            "state": row.state,
            "cause": row.cause,
            "reason": row.reason,
            "vertices": row.vertices,
        }
        for row in job.rescales.order_by("-started_at", "-pk")[:MOST_SHOWN]
    ]


def _keep(row: EngineJob, rescale: Rescale) -> None:
    vertices = [
        asdict(vertex) | {"id": _fitting(vertex.id), "name": _fitting(vertex.name)}
        for vertex in rescale.vertices
    ]
    words = {name: _fitting(getattr(rescale, name)) for name in ("state", "cause", "reason")}
    times = {"started_at": rescale.started_at, "ended_at": rescale.ended_at}
    EngineRescale.objects.update_or_create(
        job=row, uuid=rescale.uuid, defaults={"vertices": vertices, **words, **times}
    )


def _fitting(words: str) -> str:
    return clipped(storable(words), _LONGEST)
