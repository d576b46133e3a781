"""Make addresses that hold ids, which may be any text."""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

import numpy as np


def to_snapshot(recording: int, snapshot: str) -> str:
    """Return the address of a snapshot's page.

    Browsers shorten segments of dots, however they are quoted, so such ids go into the query.
    """
    if {".", "..", ""} & set(snapshot.split("/")):
        return f"/recordings/{recording}/snapshots?{urlencode({'id': snapshot})}"
    return f"/recordings/{recording}/snapshots/{quote(snapshot)}"


def to_proof(recording: int, snapshot: str) -> str:
    return f"/recordings/{recording}/proof?{urlencode({'snapshot': snapshot})}"


def to_restored(recording: int, snapshot: str) -> str:
    """Return the address at which one restores a snapshot and watches."""
    return f"/recordings/{recording}/restore?{urlencode({'snapshot': snapshot})}"


def to_smallest_part(recording: int, snapshot: str, finding: int) -> str:
    """Return the address of the smallest part that shows a finding about a snapshot."""
    query = urlencode({"snapshot": snapshot, "finding": finding})
    return f"/recordings/{recording}/smallest-part?{query}"


def to_file_of_smallest_part(recording: int, snapshot: str, finding: int) -> str:
    """Return the address of the same part as a file."""
    query = urlencode({"snapshot": snapshot, "finding": finding})
    return f"/recordings/{recording}/smallest-part/file?{query}"


def to_states(recording: int, snapshot: str) -> str:
    """Return the address of the graph of global states with what a snapshot recorded."""
    return f"/recordings/{recording}/states?{urlencode({'snapshot': snapshot})}"


def to_comparison(recording: int, snapshot: str = "") -> str:
    """Return where one chooses what a recording, or a snapshot of it, is compared with."""
    query = {"left": recording} | ({"left_snapshot": snapshot} if snapshot else {})
    return f"/compare/two?{urlencode(query)}"


def to_checkpoint(recording: int, checkpoint: str) -> str:
    return f"/recordings/{recording}/checkpoints?{urlencode({'checkpoint': checkpoint})}"


def to_predicate(recording: int, expression: str) -> str:
    return f"/recordings/{recording}/predicates?{urlencode({'expression': expression})}"


def to_workbench(recording: int, **view: str) -> str:
    """Return the address of the workbench with the parameters ``view``.

    Source: docs/workbench.md, "Links into it".
    """
    query = urlencode({name: item for name, item in view.items() if item})
    return f"/recordings/{recording}?{query}" if query else f"/recordings/{recording}"


def event(place: Mapping[str, Any]) -> str:
    """Return the parameter ``event`` of a link, for a place ``{"process", "index"}``."""
    return f"{place['index']}@{place['process']}"


def cut(positions: Iterable[int]) -> str:
    """Return the parameter ``cut`` of a link, for positions in the order of the processes."""
    return ".".join(np.base_repr(position, 36).lower() for position in positions)
