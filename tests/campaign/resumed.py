"""Uploads in pieces: a piece whose answer was lost is asked for, and sent again where it lacks."""

import base64
import time
from typing import Any

from tests.campaign.client import PATIENCE_SECONDS, Client

PIECE_BYTES = 100_000
TUS = {"Tus-Resumable": "1.0.0"}
KIND = "application/offset+octet-stream"


def upload(client: Client, content: bytes, name: str) -> dict[str, Any]:
    """Send a file in pieces; return what POST /recordings answers to such a file.

    Raises: AssertionError if what was acknowledged is lost, TimeoutError.
    """
    address = begun(client, content, name)
    deadline, acknowledged = time.monotonic() + PATIENCE_SECONDS, 0
    while acknowledged < len(content):
        piece = content[acknowledged : acknowledged + PIECE_BYTES]
        where = TUS | {"Upload-Offset": str(acknowledged)}
        client.call("PATCH", address, piece, KIND, where)
        told = offset_of(client, address)
        assert told >= acknowledged, f"{name} had {acknowledged} bytes, and then {told}"
        assert time.monotonic() < deadline, f"{name} stopped at {told} of {len(content)} bytes"
        if told == acknowledged:
            time.sleep(0.5)
        acknowledged = told
    accepted: dict[str, Any] = client.get(address)["accepted"]
    return accepted


def begun(client: Client, content: bytes, name: str) -> str:
    """The address of the upload. A lost answer is looked up: nothing else repeats this call."""
    told = ",".join(f"{key} {encoded(name)}" for key in ("filename", "name"))
    headers = TUS | {"Upload-Length": str(len(content)), "Upload-Metadata": told}
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        answer = client.call("POST", "/uploads", None, "", headers)
        if answer is not None and answer.status == 201:
            return answer.headers["location"].removeprefix("/api")
        time.sleep(0.5)
        for unfinished in client.get("/uploads")["items"]:
            if unfinished["name"] == name:
                return f"/uploads/{unfinished['id']}"
    raise TimeoutError(f"{name} could not be begun")


def offset_of(client: Client, address: str) -> int:
    answer = client.insist("HEAD", address, None, "", TUS)
    assert answer.status == 200, f"HEAD {address} answered {answer.status}"
    return int(answer.headers["upload-offset"])


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
