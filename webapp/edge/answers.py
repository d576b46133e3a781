"""Answer requests before Django sees them."""

import json

from snapshots import problems
from snapshots.problems import Problem


async def answer(scope, send, problem: Problem) -> None:
    """Answer with the problem: as JSON for the API, as a sentence for a page."""
    body = problem.as_json()
    if scope["path"].startswith("/api/"):
        kind, content = problems.MEDIA_TYPE, json.dumps(body).encode()
    else:
        kind, content = "text/plain; charset=utf-8", f"{problem.detail}\n".encode()
    headers = {
        "Content-Type": kind,
        "Content-Length": str(len(content)),
        "Connection": "close",
        "Cache-Control": "no-store",
        "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff",
        **problems.headers(body),
    }
    pairs = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": problem.status, "headers": pairs})
    await send({"type": "http.response.body", "body": content})
