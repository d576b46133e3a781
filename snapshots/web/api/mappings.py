"""Mappings: which field of a log of JSON lines says what; tried, saved, used again."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import File, Form, Router, Schema, UploadedFile

from snapshots import access
from snapshots.payloads import mappings as mapping_payloads
from snapshots.services import mappings
from snapshots.web.api.parameters import Limit, Offset
from snapshots.web.json import reply
from webapp.edge.idempotency import DOCUMENTED, idempotent

router = Router()


class MappingDocument(Schema):
    """document: {"process": path, "kind": path or {"path", "rules": [{"value", "kind"}],
    "otherwise"}, "peer": path or {"send", "receive"}, "channel", "message", "at": path or {"path",
    "unit"}, "state", "value": path or {name: path}, "label", "snapshot", "fifo"}.
    """

    name: Any = None
    document: Any = None


@router.get("/mappings", response=mapping_payloads.MappingList)
def list_mappings(request: HttpRequest, limit: Limit, offset: Offset) -> HttpResponse:
    """Yours, the last changed first."""
    rows = access.mappings(request.user)
    items = [mapping_payloads.mapping_detail(row) for row in rows[offset : offset + limit]]
    return reply({"items": items, "total": rows.count()})


@router.post("/mappings", response={201: mapping_payloads.MappingDetail}, openapi_extra=DOCUMENTED)
@idempotent
def create_mapping(request: HttpRequest, body: MappingDocument) -> HttpResponse:
    """An upload with `format=mapping:ID` is read by it."""
    row = mappings.save(request.user, body.name, body.document)
    return reply(mapping_payloads.mapping_detail(row), 201)


@router.post("/mappings/preview", response=mapping_payloads.MappingPreview)
def preview_mapping(
    request: HttpRequest, file: File[UploadedFile], mapping: Form[str]
) -> HttpResponse:
    """The first 100 events of a log as they would be read, and what of it could not be mapped.

    mapping: a document as JSON. Nothing is kept.
    """
    found = mappings.read(mapping)
    file.draft.file.flush()
    return reply(mappings.previewed(file.draft.path, found))


@router.get("/mappings/{int:id}", response=mapping_payloads.MappingDetail)
def get_mapping(request: HttpRequest, id: int) -> HttpResponse:
    return reply(mapping_payloads.mapping_detail(access.mapping(request.user, id)))


@router.put("/mappings/{int:id}", response=mapping_payloads.MappingDetail)
def replace_mapping(request: HttpRequest, id: int, body: MappingDocument) -> HttpResponse:
    """Recordings that were read by it stay as they are."""
    row = access.mapping(request.user, id)
    saved = mappings.save(request.user, body.name, body.document, mapping=row)
    return reply(mapping_payloads.mapping_detail(saved))


@router.delete("/mappings/{int:id}", response={204: None})
def delete_mapping(request: HttpRequest, id: int) -> HttpResponse:
    """Recordings that were read by it stay."""
    mappings.delete(access.mapping(request.user, id), request.user)
    return HttpResponse(status=204)
