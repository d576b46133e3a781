"""The calls that try, save and list mappings of logs of JSON lines."""

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Field, File, Form, Router, Schema, UploadedFile

from snapshots import access
from snapshots.files.uploads import flushed_path
from snapshots.payloads.mappings import MappingDetail, MappingList, MappingPreview, mapping_detail
from snapshots.services import mappings
from snapshots.web.api.parameters import Holder, Limit, MappingId, Offset, OwnedBy
from snapshots.web.json import reply, reply_page
from webapp.edge.idempotency import DOCUMENTED, idempotent

router = Router()


class MappingDocument(Schema):
    """A mapping: which field of a line means what."""

    name: Any = Field(None, description="The name of the mapping.")
    document: Any = Field(
        None,
        description="`process`, `kind`, `peer`, `channel`, `message`, `at`, `state`, `value`, "
        "`label`, `snapshot` and `fifo`. Most are a path: names with dots between. `kind` may be "
        "`{path, rules: [{value, kind}], otherwise}`, `peer` `{send, receive}`, `at` `{path, "
        "unit}`, and `state` and `value` `{name: path}`. See docs/formats/json-lines.md.",
        examples=[{"process": "host", "kind": "event", "peer": "to", "at": "ts"}],
    )


@router.get("/mappings", response=MappingList)
def list_mappings(
    request: HttpRequest, limit: Limit, offset: Offset, team: OwnedBy
) -> HttpResponse:
    """List your mappings and those of your teams, the last changed first."""
    rows = access.owned_by(request.user, access.mappings(request.user), team)
    return reply_page(rows, offset, limit, mapping_detail)


@router.post("/mappings", response={201: MappingDetail}, openapi_extra=DOCUMENTED)
@idempotent
def create_mapping(request: HttpRequest, body: MappingDocument, team: Holder) -> HttpResponse:
    """Save a mapping. An upload with `format=mapping:ID` is then read by it."""
    owner = access.holder(request.user, team)
    row = mappings.save(owner, body.name, body.document)
    return reply(mapping_detail(row), 201)


@router.post("/mappings/preview", response=MappingPreview)
def preview_mapping(
    request: HttpRequest,
    file: Annotated[UploadedFile, File(description="The log, or its beginning.")],
    mapping: Annotated[str, Form(description="The document of a mapping, as JSON text.")],
) -> HttpResponse:
    """Return the first 100 events of a log as a mapping would read them.

    The answer also lists the lines that cannot be mapped, with the reason. Nothing is kept.
    """
    return reply(mappings.previewed(flushed_path(file), mappings.read(mapping)))


@router.get("/mappings/{int:id}", response=MappingDetail)
def get_mapping(request: HttpRequest, id: MappingId) -> HttpResponse:
    """Return a mapping with its document."""
    return reply(mapping_detail(access.mapping(request.user, id)))


@router.put("/mappings/{int:id}", response=MappingDetail)
def replace_mapping(request: HttpRequest, id: MappingId, body: MappingDocument) -> HttpResponse:
    """Replace a mapping. Recordings that it has read stay as they are."""
    row = access.own_mapping(request.user, id)
    saved = mappings.save(request.user, body.name, body.document, mapping=row)
    return reply(mapping_detail(saved))


@router.delete("/mappings/{int:id}", response={204: None})
def delete_mapping(request: HttpRequest, id: MappingId) -> HttpResponse:
    """Delete a mapping. Recordings that it has read stay."""
    mappings.delete(access.own_mapping(request.user, id), request.user)
    return HttpResponse(status=204)
