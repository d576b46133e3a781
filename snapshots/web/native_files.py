"""Send files that another Cutline reads."""

from django.http import HttpResponse
from django.utils.http import content_disposition_header


def native_attachment(content: bytes, name: str) -> HttpResponse:
    """Send a file of the native format that a browser saves under ``name``."""
    return _attachment(content, name, "application/x-ndjson")


def json_attachment(content: bytes, name: str) -> HttpResponse:
    """Send a JSON document that a browser saves under ``name``."""
    return _attachment(content, name, "application/json")


def _attachment(content: bytes, name: str, content_type: str) -> HttpResponse:
    headers = {"Content-Disposition": content_disposition_header(True, name)}
    return HttpResponse(content, content_type=content_type, headers=headers)
