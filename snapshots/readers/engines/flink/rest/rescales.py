"""Read the history of a job's rescales, which Flink's adaptive scheduler keeps from 2.3 on.

The history lists rescales without their vertices; the answer about one rescale has them.
Instants are epoch milliseconds. None stands for what Flink does not say.
"""

import re
from dataclasses import dataclass
from typing import Any

from snapshots.readers.engines.flink.rest.fields import mapping, number, text

ADAPTIVE = "adaptive"  # the scheduler that rescales, as Flink's answer about a job names it
MOST = 1_000  # rescales of an answer, and vertices of a rescale, that are read
_UUID = re.compile(r"[0-9a-fA-F-]{1,64}")
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class RescaledVertex:
    """What a rescale made of a vertex.

    Attributes:
        before: its parallelism before the rescale.
        after: its parallelism after it.
        desired: the parallelism that was wanted.
    """

    id: str
    name: str
    before: int | None
    after: int | None
    desired: int | None


@dataclass(frozen=True, slots=True)
class Rescale:
    """One attempt to run a job with another parallelism.

    Attributes:
        uuid: Flink's id of it.
        state: how it ended, in Flink's word, in lower case; empty while it goes on.
        cause: why it began, likewise.
        reason: why it ended, likewise.
    """

    uuid: str
    started_at: int | None
    ended_at: int | None
    state: str
    cause: str
    reason: str
    vertices: tuple[RescaledVertex, ...] = ()


def rescales_of(history: object) -> list[Rescale]:
    """Return the rescales that an answer lists."""
    listed = history if isinstance(history, list) else []
    found = (rescale_of(item) for item in listed[:MOST])
    return [each for each in found if each is not None]


def rescale_of(item: object) -> Rescale | None:
    """Return the rescale that an answer is about, None if it names none."""
    value = mapping(item)
    uuid = text(value, "rescaleUuid") or ""
    if not _UUID.fullmatch(uuid):
        return None
    vertices = mapping(value, "vertices")
    return Rescale(
        uuid,
        number(value, "startTimestampInMillis"),
        number(value, "endTimestampInMillis"),
        _word(value, "terminalState"),
        _word(value, "triggerCause"),
        _word(value, "terminatedReason"),
        tuple(_vertex(id_, mapping(vertices, id_)) for id_ in list(vertices)[:MOST]),
    )


def _word(value: dict[str, Any], name: str) -> str:
    return (text(value, name) or "").lower().replace("_", " ")[:_LONGEST]


def _vertex(id_: str, value: dict[str, Any]) -> RescaledVertex:
    return RescaledVertex(
        id_[:_LONGEST],
        (text(value, "jobVertexName") or id_)[:_LONGEST],
        number(value, "preRescaleParallelism"),
        number(value, "postRescaleParallelism"),
        number(value, "desiredParallelism"),
    )
