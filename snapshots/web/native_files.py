"""Send files of the native format."""

from django.http import HttpResponse
from django.utils.http import content_disposition_header


def native_attachment(content: bytes, name: str) -> HttpResponse:
    """Send a file that a browser saves under ``name``."""
    disposition = content_disposition_header(True, name)
    return HttpResponse(
        content,
        content_type="application/x-ndjson",
        headers={"Content-Disposition": disposition},
    )
