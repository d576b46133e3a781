"""Reads the ids of records, ``[split, offset, derived]``, out of events."""

import json
from typing import Any

from snapshots.domain.dataflow_logs.events import whole
from snapshots.domain.dataflow_logs.failovers.report import Rid
from snapshots.domain.model.values import canonical


def rid_of(fields: dict[str, Any]) -> Rid | None:
    """Return the id of a record, ``[split, offset, derived]``, or None if the fields have none."""
    rid = fields.get("rid")
    well_formed = (
        isinstance(rid, list)
        and len(rid) == 3
        and isinstance(rid[0], str)
        and whole(rid[1]) is not None
        and isinstance(rid[2], str)
    )
    return rid if well_formed else None


def text_of(rid: Rid | None) -> str | None:
    """Return the JSON text of a record's id, or None without one."""
    return None if rid is None else canonical(rid)


def rid_in(text: str) -> Rid:
    """Return the id of a record from its JSON text."""
    rid: Rid = json.loads(text)
    return rid
