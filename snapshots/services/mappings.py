"""Check, save and try out mappings, and find the one that a format names."""

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
    """Return the mapping of a document. Raises: Invalid, with the field."""
    try:
        mapping = readers.parse(document)
        size = len(orjson.dumps(document))
    except readers.MappingRefused as refused:
        raise Invalid(refused.sentence, field=refused.field) from None
    except orjson.JSONEncodeError:
        raise Invalid("The mapping holds something that is not JSON.", field="mapping") from None
    if size > MOST_BYTES:
        raise Invalid(f"A mapping has at most {MOST_BYTES:,} bytes.", field="mapping")
    return mapping


def read(text: str) -> readers.Mapping:
    """Return the mapping of a document as JSON text. Raises: Invalid, with the field."""
    try:
        return checked(orjson.loads(text))
    except orjson.JSONDecodeError as error:
        raise Invalid(f"The mapping is not JSON: {error.msg}.", field="mapping") from None


def save(user, name: Any, document: Any, *, mapping: Mapping | None = None) -> Mapping:
    """Save a new mapping, or another document for one; recordings keep what they were read with.

    Raises: Invalid, Refused.
    """
    mapping = mapping or Mapping(owner=user)
    mapping.name = topology_documents.checked_name(name)
    mapping.document = checked(document).document
    mapping.save()
    return mapping


@transaction.atomic
def delete(mapping: Mapping, by) -> None:
    """Delete a mapping; recordings that were read with it stay."""
    audit.note(audit.DELETED, by, f"mapping {mapping.pk} “{mapping.name}”")
    mapping.delete()


def of_format(user, format: str) -> Mapping | None:
    """Return the mapping that ``mapping:ID`` names; None for other formats. Raises: Invalid."""
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
    """Check that the file's first lines hold an event of the mapping. Raises: Refused."""
    document = checked(mapping.document)
    first_events = preview(flushed_path(file), document, recording_limits(), most=1)
    if first_events.events:
        return
    line, reason = next(iter(first_events.misfits.places), (None, None))
    cause = first_events.ended or (
        f"Line {line} {reason}." if reason else "It holds no line of JSON."
    )
    raise Refused(
        f"Nothing at the beginning of {file.name} is an event of the mapping “{mapping.name}”. "
        f"{cause}",
        code="unknown-format",
        line=line,
        file=file.name,
    )


def previewed(path: Path, mapping: readers.Mapping) -> mappings.MappingPreview:
    """Return the first events of a log as they would be read. Raises: as reading a file does."""
    limits = recording_limits()
    return _payload(preview(path, mapping, limits), fields_of(path, limits))


def _payload(log_preview: Preview, fields: dict[str, str]) -> mappings.MappingPreview:
    return {
        "events": [_event(shown) for shown in log_preview.events],
        "lines": log_preview.lines,
        "left_out": log_preview.left_out,
        "misfits": log_preview.misfits.count,
        "misfit_lines": [list(item) for item in log_preview.misfits.places],
        "without_time": log_preview.without_time,
        "ended": log_preview.ended,
        "fields": fields,
    }


def _event(shown: Shown) -> mappings.PreviewedEvent:
    source = shown.event
    return {
        "line": shown.line,
        "process": source.process,
        "kind": source.kind,
        "channel": source.link.id if source.link else None,
        "message": shown.message,
        "at": shown.at,
        "instant": shown.instant,
        "state": None if source.state is None else orjson.Fragment(source.state),
        "value": None if source.value is None else orjson.Fragment(source.value),
        "snapshot": source.snapshot,
        "label": source.label,
    }
