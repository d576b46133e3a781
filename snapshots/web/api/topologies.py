"""The calls that save, import and list topologies, and simulate runs on them."""

import inspect
from functools import reduce
from operator import or_
from typing import Annotated, Any

import orjson
from django.http import HttpRequest, HttpResponse
from ninja import Field, File, Form, Router, Schema, UploadedFile
from pydantic import TypeAdapter

from snapshots import access
from snapshots.payloads.recordings import Accepted
from snapshots.payloads.topologies import (
    TopologyDetail,
    TopologyList,
    topology_detail,
    topology_summary,
)
from snapshots.services.simulations import request_simulation
from snapshots.services.topologies import delete_topology as delete
from snapshots.services.topologies import import_topology as take_in
from snapshots.services.topologies import save_topology
from snapshots.simulating.simulations import PARAMETERS
from snapshots.web.api.parameters import Holder, Limit, Offset, OwnedBy, TopologyId
from snapshots.web.json import reply, reply_page
from webapp.edge.idempotency import DOCUMENTED, idempotent

router = Router()


class TopologyDocument(Schema):
    """A topology of processes and channels, or a dataflow.

    A refusal names the place, as in `channels[3].source` or `dataflow.vertices[1].parallelism`.
    """

    name: Any = Field("topology", description="The name of the topology.")
    dataflow: Any = Field(
        None,
        description="A dataflow in place of processes and channels, which follow from it and are "
        "ignored if they are sent. `vertices` have `id`, `kind`, `parallelism`, `max_parallelism`, "
        "`cost`, `rate`, `records`, `keys`, `skew`, `value`, `function` and `sink`; `edges` have "
        "`source`, `target` and `exchange`.",
    )
    processes: Any = Field(
        None,
        description="The processes: `id`, and `state` at the start if it is known.",
        examples=[[{"id": "A", "state": 10}, {"id": "B", "state": 0}]],
    )
    channels: Any = Field(
        [],
        description="The channels: `id`, `source`, `target`, and `fifo` (true by default).",
        examples=[[{"id": "A->B", "source": "A", "target": "B"}]],
    )
    layout: Any = Field(
        {},
        description="Where processes are drawn: `{process: [x, y]}` in the square 0 to 1. "
        "Processes may be missing.",
    )


class SimulationParameters(Schema):
    """The parameters of a run, which depend on the kind of the topology and on the protocol.

    Every parameter has a default, and null stands for it. On a dataflow ``protocol`` says which
    parameters there are; without it they are Flink's.
    """

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        fields = [field for model in PARAMETERS for field in model.model_fields.items()]
        return {
            "type": "object",
            "title": cls.__name__,
            "description": inspect.getdoc(cls),
            "properties": {
                name: {"title": info.title, "description": info.description}
                for name, info in reversed(fields)
            },
            **handler(TypeAdapter(reduce(or_, PARAMETERS)).core_schema),
        }


@router.get("/topologies", response=TopologyList)
def list_topologies(
    request: HttpRequest, limit: Limit, offset: Offset, team: OwnedBy
) -> HttpResponse:
    """List your topologies, those of your teams and the samples, the last changed first."""
    rows = access.owned_by(request.user, access.topologies(request.user), team)
    return reply_page(rows, offset, limit, topology_summary)


@router.post("/topologies", response={201: TopologyDetail}, openapi_extra=DOCUMENTED)
@idempotent
def create_topology(request: HttpRequest, body: TopologyDocument, team: Holder) -> HttpResponse:
    """Save a topology or a dataflow."""
    owner = access.holder(request.user, team)
    topology = save_topology(owner, body.dict(exclude_unset=True))
    return reply(topology_detail(topology), 201)


@router.post("/topologies/import", response={201: TopologyDetail}, openapi_extra=DOCUMENTED)
@idempotent
def import_topology(
    request: HttpRequest,
    file: Annotated[UploadedFile, File(None, description="A file to import.")],
    text: Annotated[str, Form(description="The text to import, in place of a file.")] = "",
    name: Annotated[str, Form(description="The name; empty for the file's.")] = "",
    team: Annotated[
        int | None, Form(description="The number of the team that gets it; empty for yourself.")
    ] = None,
) -> HttpResponse:
    """Import a topology from a file or a text.

    It may be a `.top` file, JSON (also the header of a log) or a list of edges.
    """
    topology = take_in(access.holder(request.user, team), file, text, name)
    return reply(topology_detail(topology), 201)


@router.get("/topologies/{int:id}", response=TopologyDetail)
def get_topology(request: HttpRequest, id: TopologyId) -> HttpResponse:
    """Return a topology with its document; a dataflow comes with its processes and channels."""
    return reply(topology_detail(access.topology(request.user, id)))


@router.put("/topologies/{int:id}", response=TopologyDetail)
def replace_topology(request: HttpRequest, id: TopologyId, body: TopologyDocument) -> HttpResponse:
    """Replace the document of a topology. Recordings simulated on it stay as they are."""
    topology = access.own_topology(request.user, id)
    document = body.dict(exclude_unset=True)
    saved = save_topology(request.user, document, topology=topology)
    return reply(topology_detail(saved))


@router.delete("/topologies/{int:id}", response={204: None})
def delete_topology(request: HttpRequest, id: TopologyId) -> HttpResponse:
    """Delete a topology. Recordings simulated on it stay."""
    delete(access.own_topology(request.user, id), request.user)
    return HttpResponse(status=204)


@router.post(
    "/topologies/{int:id}/simulate",
    response={202: Accepted},
    openapi_extra=DOCUMENTED,
    summary="Simulate a run",
)
@idempotent
def simulate(
    request: HttpRequest, id: TopologyId, body: SimulationParameters, team: Holder
) -> HttpResponse:
    """Simulate a workload with snapshots, or a dataflow with checkpoints, as a new recording.

    The recording is ingested like any other. A parameter that makes no sense or does not exist is
    refused with its name.
    """
    topology = access.topology(request.user, id)
    parameters = orjson.loads(request.body)  # the schema only documents: the service checks
    owner = access.holder(request.user, team)
    job = request_simulation(owner, topology, parameters, request.user)
    return reply({"id": job.recording_id, "job": job.pk}, 202)
