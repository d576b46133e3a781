"""The calls that answer questions about cuts, windows and single events of a recording."""

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Field, Path, Query, Router

from snapshots import access
from snapshots.answers import global_states, occurring, playing, replay
from snapshots.answers import search as searching
from snapshots.domain.model.as_json import as_json
from snapshots.files.recordings import open_recording
from snapshots.payloads import cuts
from snapshots.payloads.frames import FramesPayload
from snapshots.payloads.search import SearchAnswer
from snapshots.payloads.state_graph import OccurrenceDetail, StateGraphDetail
from snapshots.payloads.window import WindowPayload
from snapshots.web.api.parameters import EventIndex, ProcessId, RecordingId
from snapshots.web.api.parts import PartQuestion
from snapshots.web.api.reading import stored_recording
from snapshots.web.json import reply

router = Router()


class CutQuestion(PartQuestion):
    """A cut, named in exactly one of three ways, and the part of the answer that is asked for."""

    positions: Any = Field(
        None,
        description="How many events of each process are inside: an object by process id, where "
        "absent processes have 0, or a list in the order of the processes.",
        examples=[{"A": 3, "B": 1}],
    )
    at: Any = Field(
        None, description="All events up to this instant, in the recording's `time_unit`."
    )
    step: Any = Field(None, description="The first so many events of the whole recording.")


@router.post("/recordings/{int:id}/cuts", response=cuts.CutAnswer, summary="Evaluate a cut")
def cut(request: HttpRequest, id: RecordingId, body: CutQuestion) -> HttpResponse:
    """Answer whether a cut is consistent, and what states and channels hold in it.

    A state that is not known is absent. An inconsistent cut comes with its orphans, and with
    `nearest`: the latest consistent cut inside it or the smallest around it, whichever moves fewer
    events. With `limit`, one answer has a part, as that of a snapshot has.
    """
    return reply(replay.cut(stored_recording(request, id), body.dict()))


@router.get("/recordings/{int:id}/window", response=WindowPayload, summary="Get a window")
def window(
    request: HttpRequest,
    id: RecordingId,
    from_: Annotated[
        float | None,
        Query(None, alias="from", description="The left edge; by default the beginning."),
    ],
    to: Annotated[float | None, Query(description="The right edge; by default the end.")] = None,
    width: Annotated[
        float | None, Query(description="The width in pixels, 50 to 8192; by default 1000.")
    ] = None,
    axis: Annotated[
        str, Query(description="`time`: edges are instants. `order`: edges are numbers of events.")
    ] = "time",
    only: Annotated[
        str, Query(description="`markers`: leave out events and messages. Empty: nothing.")
    ] = "",
) -> HttpResponse:
    """Return what there is to draw between two edges.

    If the window holds more than a screen can show, `exact` is false and `bins` has the overview.
    Columns are typed arrays in base64, as Plotly takes them; `docs/websocket.md` describes them.
    """
    question = {"from": from_, "to": to, "width": width, "axis": axis, "only": only}
    return reply(replay.window(stored_recording(request, id), question))


@router.get("/recordings/{int:id}/frames", response=FramesPayload, summary="Get frames")
def get_frames(
    request: HttpRequest,
    id: RecordingId,
    at: Annotated[
        float | None, Query(description="The instant after which the frames begin.")
    ] = None,
    step: Annotated[
        float | None,
        Query(description="On the axis of order, the number of events after which they begin."),
    ] = None,
    by: Annotated[
        int | None,
        Query(
            ge=-(2**53),
            le=2**53,
            description="They begin at the event that is so many events after that, or before it.",
        ),
    ] = None,
    key: Annotated[  # noqa: FBT002, a parameter of an address
        bool, Query(description="Whether the first is a key frame, with all that is there.")
    ] = False,
    rate: Annotated[
        float | None,
        Query(description="How many units of the axis pass in a second; by default 1."),
    ] = None,
    idle: Annotated[  # noqa: FBT002, a parameter of an address
        bool, Query(description="Whether a stretch without events is one frame.")
    ] = False,
    snapshot: Annotated[
        str | None, Query(description="The id of the snapshot whose spreading is told.")
    ] = None,
    restored: Annotated[
        str | None,
        Query(
            description="The id of the snapshot whose restored run is played; `step` is a place."
        ),
    ] = None,
    count: Annotated[
        int | None, Query(ge=1, description="The most frames in the answer; at most 12.")
    ] = None,
    process_codes: Annotated[
        str | None, Query(description="The processes that are listed, as in a cut.")
    ] = None,
    channel_codes: Annotated[
        str | None, Query(description="The channels that are listed, as in a cut.")
    ] = None,
) -> HttpResponse:
    """Return the frames that a player shows next, as the websocket sends them.

    Use the websocket where you can: it sends them ahead, and only while they are read. Frames are
    described in `docs/websocket.md`. The next request begins `at` the end of the last frame.
    """
    question = {
        "at": at, "step": step, "by": by, "key": key, "rate": rate, "idle": idle,
        "snapshot": snapshot, "restored": restored, "count": count,
        "process_codes": process_codes, "channel_codes": channel_codes,
    }  # fmt: skip
    return reply(playing.some_frames(stored_recording(request, id), question))


@router.get("/recordings/{int:id}/search", response=SearchAnswer, summary="Search the events")
def search(
    request: HttpRequest,
    id: RecordingId,
    query: Annotated[
        str,
        Query(
            description="The words that an event must hold, each in any of its fields, or in the "
            "field that it names, as in `kind:send value:1000`. An instant is written with its "
            "unit, as in `5.2ms`, a range as `5ms..6ms`."
        ),
    ],
    offset: Annotated[
        int | None, Query(description="How many found events to leave out, from the first.")
    ] = None,
    from_step: Annotated[
        int | None, Query(description="Leave out the found events before this step instead.")
    ] = None,
    limit: Annotated[
        int | None, Query(description="The most events in the answer, 0 to 100; by default 20.")
    ] = None,
) -> HttpResponse:
    """Return the events that hold all words of a query, in the order of their steps.

    An answer takes about a second at most. Where that is too little for all events, `complete` is
    false, `total` counts what was found so far, and the same request goes on. `docs/api.md` says
    how words are read.
    """
    question = {"query": query, "offset": offset, "from_step": from_step, "limit": limit}
    return reply(searching.search(stored_recording(request, id), question))


@router.get("/recordings/{int:id}/events/{text:process}/{int:index}", response=cuts.EventDetail)
def get_event(
    request: HttpRequest,
    id: RecordingId,
    process: ProcessId,
    index: EventIndex,
    whole: Annotated[  # noqa: FBT002, a parameter of an address
        bool, Query(description="Whether long texts and lists are wanted whole.")
    ] = False,
) -> HttpResponse:
    """Return all fields of one event, and the message or marker that it sends or receives.

    A state, value or other field of more than 100,000 bytes is an object with `$excerpt`, its first
    2,000 bytes, and `$bytes`, its length. Of the ids of messages that the event recorded, 1,000 are
    listed. With `whole`, everything is in the answer.
    """
    stored = stored_recording(request, id)
    return reply(replay.event(stored, process, index, whole=whole))


@router.get("/recordings/{int:id}/cones/{text:process}/{int:index}", response=cuts.ConesPayload)
def get_cones(
    request: HttpRequest, id: RecordingId, process: ProcessId, index: EventIndex
) -> HttpResponse:
    """Return what happened before one event (its vector clock), and what it could influence.

    Lists are in the order of the processes. `before`, `after` and `concurrent` count events.
    Messages and markers carry influence here. Cuts and predicates look at messages only.
    """
    return reply(replay.cones(stored_recording(request, id), process, index))


@router.get(
    "/recordings/{int:id}/states", response=StateGraphDetail, summary="Get the graph of states"
)
def get_states(
    request: HttpRequest,
    id: RecordingId,
    snapshot: Annotated[
        str | None, Query(description="The snapshot whose recorded state is looked for.")
    ] = None,
) -> HttpResponse:
    """Return the global states through which the run can pass, and the events between them.

    A state is a consistent cut. Every path from the first to the last is an order in which the same
    events can happen. Up to 2,000 states are given; if the whole run has more, those of the part
    around the snapshot are given, or else none, with a sentence that says why.
    """
    recording = access.ready_recording(request.user, id)
    row = access.snapshot(recording, snapshot) if snapshot is not None else None
    return reply(as_json(global_states.state_graph(open_recording(recording), row)))


@router.get(
    "/recordings/{int:id}/states/{int:state}/occurrence",
    response=OccurrenceDetail,
    summary="Try an event in a global state",
)
def get_occurrence(
    request: HttpRequest,
    id: RecordingId,
    state: Annotated[int, Path(description="The number of the state in the graph.")],
    process: Annotated[str, Query(description="The process of the event.")],
    index: Annotated[int, Query(description="The number of the event within its process, from 0.")],
    snapshot: Annotated[
        str | None, Query(description="The snapshot whose recorded state is looked for.")
    ] = None,
) -> HttpResponse:
    """Return whether an event of the run may occur in a global state, or why it may not.

    It may if its process is in the state that it needs and, where it receives a message, if that
    message is at the head of its channel. `next_state` is the state that follows.
    """
    recording = access.ready_recording(request.user, id)
    row = access.snapshot(recording, snapshot) if snapshot is not None else None
    graph = global_states.state_graph(open_recording(recording), row).graph
    return reply(occurring.answer(graph, state, process, index))
