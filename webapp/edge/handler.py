"""Handle requests with Django: each in one thread, with its body on our own disk."""

import tempfile
from typing import Any

import django
from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler


class Handler(ASGIHandler):
    """Answers a request in one thread, for no middleware and no view of ours is asynchronous.

    Django would go back to the event loop between middleware and view, and to a thread again.
    """

    def __init__(self) -> None:
        """Load middleware and views as plain functions, in place of what Django loads."""
        super().__init__()
        self.load_middleware(is_async=False)

    async def get_response_async(self, request):
        """Return the response of the middleware and the view."""
        return await sync_to_async(self.get_response, thread_sensitive=True)(request)

    async def read_body(self, receive):
        """Spool a body in DATA_DIR, in a file without a name that vanishes with the process.

        Django would use the system's temporary folder, which is often small or in memory.
        """
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
