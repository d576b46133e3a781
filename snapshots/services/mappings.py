"""Mappings of a person: checked, saved, tried on a log, and found by the format that names them."""

from pathlib import Path
from typing import Any

import orjson
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction

from snapshots import access
from snapshots.files.uploads import flushed_path
from snapshots.limits import recording_limits
from snapshots.models import Mapping
from snapshots.payloads import mappings
from snapshots.problems import Invalid, NotFound, Refused
from snapshots.readers.logs.mapped import mapping as readers
from snapshots.readers.logs.mapped.lines import PREFIX
from snapshots.readers.logs.mapped.preview import Preview, Shown, fields_of, preview
from snapshots.simulating import topology_documents
from webapp.accounts import audit

FORMAT = "mapping:"
MOST_BYTES = 20_000  # of a document


def checked(document: Any) -> readers.Mapping:
    """Raises: Invalid, with the field."""
    try:
        found = readers.parse(document)
        size = len(orjson.dumps(document))
    except readers.MappingRefused as refused:
        raise Invalid(refused.sentence, field=refused.field) from None
    except orjson.JSONEncodeError:
        raise Invalid("The mapping holds what is no JSON.", field="mapping") from None
    if size > MOST_BYTES:
        raise Invalid(f"A mapping has at most {MOST_BYTES:,} bytes.", field="mapping")
    return found


def read(text: str) -> readers.Mapping:
    """A document as JSON text. Raises: Invalid, with the field."""
    try:
        return checked(orjson.loads(text))
    except orjson.JSONDecodeError as error:
        raise Invalid(f"The mapping is no JSON: {error.msg}.", field="mapping") from None


def save(user, name: Any, document: Any, *, mapping: Mapping | None = None) -> Mapping:
    """A new mapping, or another document for one. Recordings keep what they were read by.

    Raises: Invalid, Refused.
    """
    mapping = mapping or Mapping(owner=user)
    mapping.name = topology_documents.checked_name(name)
    mapping.document = checked(document).document
    mapping.save()
    return mapping


@transaction.atomic
def delete(mapping: Mapping, by) -> None:
    """Delete a mapping. Recordings that were read by it stay."""
    audit.note(audit.DELETED, by, f"mapping {mapping.pk} “{mapping.name}”")
    mapping.delete()


def of_format(user, format: str) -> Mapping | None:
    """The mapping that ``mapping:ID`` names; None for another format. Raises: Invalid."""
    if format.startswith(PREFIX):
        raise Invalid("Save the mapping, and name it as mapping:ID.", field="format")
    if not format.startswith(FORMAT):
        return None
    number = format.removeprefix(FORMAT)
    try:
        if not (number.isascii() and number.isdigit() and len(number) < 19):
            raise NotFound("A format is mapping:ID, with the number of a mapping.")
        return access.mapping(user, int(number))
    except NotFound as missing:
        raise Invalid(missing.detail, field="format") from None


def require_fit(mapping: Mapping, file: UploadedFile) -> None:
    """Raises: Refused where no event is among the first lines."""
    found = preview(flushed_path(file), checked(mapping.document), recording_limits(), most=1)
    if found.events:
        return
    line, reason = next(iter(found.misfits.places), (None, None))
    why = found.ended or (f"Line {line} {reason}." if reason else "It holds no line of JSON.")
    raise Refused(
        f"Nothing at the beginning of {file.name} is an event of the mapping “{mapping.name}”. "
        f"{why}",
        code="unknown-format",
        line=line,
        file=file.name,
    )


def previewed(path: Path, mapping: readers.Mapping) -> mappings.MappingPreview:
    """The first events of a log as they would be read. Raises: what reading a file raises."""
    limits = recording_limits()
    return _payload(preview(path, mapping, limits), fields_of(path, limits))


def _payload(found: Preview, fields: dict[str, str]) -> mappings.MappingPreview:
    return {
        "events": [_event(shown) for shown in found.events],
        "lines": found.lines,
        "left_out": found.left_out,
        "misfits": found.misfits.count,
        "misfit_lines": [list(place) for place in found.misfits.places],
        "without_time": found.without_time,
        "ended": found.ended,
        "fields": fields,
    }


def _event(shown: Shown) -> mappings.PreviewedEvent:
    told = shown.told
    return {
        "line": shown.line,
        "process": told.process,
        "kind": told.kind,
        "channel": None if told.link is None else told.link.id,
        "message": shown.message,
        "at": shown.at,
        "instant": shown.instant,
        "state": None if told.state is None else orjson.Fragment(told.state),
        "value": None if told.value is None else orjson.Fragment(told.value),
        "snapshot": told.snapshot,
        "label": told.label,
    }
