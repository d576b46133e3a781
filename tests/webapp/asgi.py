"""Requests straight to the ASGI application, in the way of a web server.

``webapp.asgi`` itself also looks at the process's own database and folder when it is imported.
"""

from asgiref.testing import ApplicationCommunicator
from django.core.asgi import get_asgi_application

from webapp.edge.proxies import TrustedProxies
from webapp.edge.requests import Requests

application = TrustedProxies(Requests(get_asgi_application()))


async def get(path: str, headers=(), client="203.0.113.7", app=application) -> dict:
    """Return the answer: ``status``, ``headers`` by name, and ``body``."""
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"secret=yes",
        "headers": [(b"host", b"localhost"), *headers],
        "client": (client, 4711),
        "server": ("127.0.0.1", 8000),
    }
    talk = ApplicationCommunicator(app, scope)
    await talk.send_input({"type": "http.request", "body": b"", "more_body": False})
    start = await talk.receive_output(10)
    body, more = b"", True
    while more:
        part = await talk.receive_output(10)
        body, more = body + part.get("body", b""), part.get("more_body", False)
    await talk.wait(10)
    names = {name.decode().lower(): value.decode() for name, value in start["headers"]}
    return {"status": start["status"], "headers": names, "body": body}
