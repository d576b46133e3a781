"""Answers that are given before Django sees the request."""

import json

from snapshots import problems
from snapshots.problems import Problem


async def answer(scope, send, problem: Problem) -> None:
    """Answer with the problem as JSON; for a page, with its sentence."""
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
        **problems.headers(body),
    }
    pairs = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": problem.status, "headers": pairs})
    await send({"type": "http.response.body", "body": content})
