"""Answer questions of the OSV service from a folder of advisories, for pip-audit without a network.

The folder holds records of the OSV schema 1.x (https://ossf.github.io/osv-schema/), as JSON or
YAML, at any depth.
"""

import json
import threading
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

import yaml
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version


class OsvFolder:
    """A server on this machine while the context lasts; ``url`` is its address for questions.

    ``count`` says how many records there are, ``newest`` the day of the newest. Raises ValueError
    if there is none.
    """

    def __init__(self, folder: Path) -> None:
        self.records: dict[str, list[dict[str, Any]]] = defaultdict(list)
        days = []
        for path in [*folder.rglob("*.json"), *folder.rglob("*.yaml")]:
            record = json.loads(path.read_text()) if path.suffix == ".json" else _yaml(path)
            if isinstance(record, dict) and "affected" in record:
                days.append(record["modified"][:10])
                for name in {_name(each) for each in record["affected"]}:
                    self.records[name].append(record)
        if not days:
            raise ValueError(f"{folder} holds no advisory of the OSV schema, as .json or .yaml.")
        self.count, self.newest = len(days), max(days)

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1/query"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def about(self, name: str, version: str) -> list[dict[str, Any]]:
        """Return the records that affect a version of a package."""
        name = canonicalize_name(name)
        return [record for record in self.records.get(name, ()) if _affects(record, name, version)]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        about = self.about

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                found = about(asked["package"]["name"], asked["version"])
                body = json.dumps({"vulns": found} if found else {}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        return Handler


def _yaml(path: Path) -> Any:
    """Return a record whose times are texts, as JSON has them."""
    return yaml.load(path.read_text(), yaml.CBaseLoader)


def _name(affected: dict[str, Any]) -> str:
    """Return the package's name as pip-audit compares it, which it also gets in the record."""
    package = affected.get("package", {})
    if package.get("ecosystem") != "PyPI":
        return ""
    package["name"] = canonicalize_name(package["name"])
    return package["name"]


def _affects(record: dict[str, Any], name: str, version: str) -> bool:
    """Apply the rule of the schema: a version is listed, or in a range."""
    wanted = Version(version)
    for affected in record["affected"]:
        if _name(affected) == name:
            if version in affected.get("versions", ()):
                return True
            if any(_in_range(wanted, each) for each in affected.get("ranges", ())):
                return True
    return False


def _in_range(version: Version, described: dict[str, Any]) -> bool:
    """Follow the events of a range in their order, from not affected on."""
    if described["type"] != "ECOSYSTEM":
        return False
    inside = False
    for kind, at in sorted(map(_event, described["events"]), key=lambda each: each[1]):
        if kind == "introduced" and version >= at:
            inside = True
        elif (kind == "fixed" and version >= at) or (kind == "last_affected" and version > at):
            inside = False
    return inside


def _event(event: dict[str, str]) -> tuple[str, Version]:
    ((kind, at),) = event.items()
    try:
        return kind, Version(at)
    except InvalidVersion:
        return "unreadable", Version("0")
