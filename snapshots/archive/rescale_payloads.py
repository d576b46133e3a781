"""Payloads of rescales: when an engine gave a job another parallelism.

Instants are epoch milliseconds. Null means that a value is not known.
"""

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.payloads.declaring import described, list_of


@described
class RescaledVertexItem(TypedDict):
    """What a rescale made of a vertex.

    Attributes:
        id: the engine's id of the vertex.
        name: the name of the vertex.
        before: its parallelism before the rescale; null if it is not known.
        after: its parallelism after the rescale; null if it is not known.
        desired: the parallelism that was wanted; null if it is not known.
    """

    id: str
    name: str
    before: int | None
    after: int | None
    desired: int | None


@described
class ArchivedRescale(TypedDict):
    """One attempt of an engine to run a job with another parallelism.

    Attributes:
        uuid: the engine's id of it.
        started_at: when it began, in epoch milliseconds; null if it is not known.
        ended_at: when it ended, in epoch milliseconds; null while it goes on, or if not known.
        state: how it ended, in the engine's word; empty if it is not known.
        cause: why it began, in the engine's words; empty if it is not known.
        reason: why it ended, in the engine's words; empty if it is not known.
        vertices: what it made of each vertex; none if it is not known.
    """

    uuid: str
    started_at: int | None
    ended_at: int | None
    state: str
    cause: str
    reason: str
    vertices: list[RescaledVertexItem]


ArchivedRescaleList = list_of(ArchivedRescale, "ArchivedRescaleList", is_paged=False)
