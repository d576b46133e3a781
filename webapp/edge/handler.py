"""Handle requests with Django, with their bodies on our own disk."""

import tempfile
from typing import Any

import django
from django.conf import settings
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler


class Handler(ASGIHandler):
    """Spools a body in DATA_DIR, in a file without a name that vanishes with the process.

    Django would use the system's temporary folder, which is often small or in memory.
    """

    async def read_body(self, receive):
        body: Any = tempfile.SpooledTemporaryFile(  # noqa: SIM115 (the request closes it)
            max_size=settings.FILE_UPLOAD_MAX_MEMORY_SIZE, mode="w+b", dir=str(settings.DATA_DIR)
        )
        try:
            await _fill(body, receive)
        except BaseException:
            body.close()
            raise
        body.seek(0)
        return body


async def _fill(body, receive) -> None:
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RequestAborted
        body.write(message.get("body", b""))
        more = message.get("more_body", False)


def get_handler() -> Handler:
    """Set Django up and return its ASGI application."""
    django.setup(set_prefix=False)
    return Handler()
