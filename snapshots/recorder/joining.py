"""Joins the logs of the processes of one system into one recording."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def join(paths: Sequence[Path], into: BinaryIO) -> None:
    """Write a header for all, then the events of each file, with times from the earliest origin.

    Raises: ValueError if the headers are not those of one system, OSError.
    """
    headers = [_header_of(path) for path in paths]
    whole = headers[0]
    for path, header in zip(paths[1:], headers[1:]):
        if {**header, "origin": 0} != {**whole, "origin": 0}:
            raise ValueError(f"{path} and {paths[0]} have different headers: not one system.")
    origin = min(header["origin"] for header in headers)
    into.write(_line({**whole, "origin": origin}))
    for path, header in zip(paths, headers):
        _copy_events(path, header["origin"] - origin, into)


def _header_of(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        fields = json.loads(file.readline() or b"null")
    if not isinstance(fields, dict) or not isinstance(fields.get("origin"), int):
        raise ValueError(f"{path} is not a log of the recorder: it has no header with an origin.")
    return fields


def _copy_events(path: Path, later: int, into: BinaryIO) -> None:
    with path.open("rb") as file:
        file.readline()
        for line in file:
            if not line.endswith(b"\n"):
                return  # it is being written, or was when its process was killed
            event = json.loads(line)
            into.write(_line({**event, "at": event["at"] + later}))


def _line(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
