"""What the banks' command asks a running Cutline: to open, to hear what to do, to close."""

import json
import urllib.error
import urllib.request
from typing import Any

_SECONDS = 10.0


class ServerRefuses(Exception):
    """The server answers with an error. ``status``: its number."""

    def __init__(self, sentence: str, status: int) -> None:
        super().__init__(sentence)
        self.status = status


class Server:
    """The API of one Cutline, for the person of the token. Raises: ServerRefuses, OSError."""

    def __init__(self, address: str, token: str) -> None:
        self.address = address.rstrip("/")
        self.token = token

    def open(self, header: dict[str, Any]) -> int:
        """Open a recording and return its number."""
        return int(self._post("/recordings", {"open": True, "header": header})["id"])

    def tell(self, recording: int, system: dict[str, Any]) -> list[dict[str, Any]]:
        """Tell how the system is, and return what people have asked for since."""
        return list(self._post(f"/recordings/{recording}/system", system)["orders"])

    def close(self, recording: int) -> None:
        """Close a recording."""
        self._post(f"/recordings/{recording}/close", {})

    def recording(self, number: int) -> str:
        """Return the address of a recording for the recorder."""
        return f"{self.address}/api/recordings/{number}"

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        request = urllib.request.Request(  # the command checks that it is http(s)
            f"{self.address}/api{path}",
            json.dumps(body).encode(),
            {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise ServerRefuses(_said(error), error.code) from None
        except urllib.error.URLError as error:
            raise ConnectionError(str(error.reason)) from None


def _said(error: urllib.error.HTTPError) -> str:
    try:
        detail = json.loads(error.read(10_000)).get("detail")
    except (ValueError, AttributeError):
        detail = None
    return f"The server answers with {error.code}: {detail or error.reason}"
