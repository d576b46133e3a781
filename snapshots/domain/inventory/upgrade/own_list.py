"""The list of uids of the job that wrote a checkpoint, as far as the checkpoint tells it.

It is where the list of the next version begins: what has changed is edited.
"""

import json
from typing import Any

from snapshots.domain.inventory.model import (
    BROADCAST,
    LISTED,
    TIMERS,
    UNION,
    UNKNOWN_KIND,
    CheckpointInventory,
    OperatorInventory,
    StateInventory,
)
from snapshots.domain.inventory.upgrade.new_job import KEYED_KINDS
from snapshots.domain.inventory.upgrade.states import SOURCE_READER
from snapshots.domain.inventory.upgrade.type_text import arrows

KINDS = {f"keyed {kind}": kind for kind in KEYED_KINDS} | {
    "operator list": LISTED,
    "operator union list": UNION,
    "operator broadcast": BROADCAST,
}
_SPELT = {kind: words for words, kind in KINDS.items()}
_TIMERS = "_timer_state/"


def own_list(checkpoint: CheckpointInventory) -> list[dict[str, Any]]:
    """Return an entry for each operator. What the checkpoint does not tell is left out."""
    return [_operator(operator) for operator in checkpoint.operators]


def as_text(entries: list[dict[str, Any]]) -> str:
    """Return a list of uids as JSON to be edited, with a line for each operator."""
    lines = (json.dumps(entry, ensure_ascii=False) for entry in entries)
    return "[\n" + ",\n".join(lines) + "\n]"


def _operator(operator: OperatorInventory) -> dict[str, Any]:
    own = {"operatorId": operator.id} if operator.uid is None else {"uid": operator.uid}
    entry = own | {
        "name": operator.name,
        "parallelism": operator.parallelism,
        "maxParallelism": operator.max_parallelism,
        "states": [_state(state) for state in operator.states if state.name and _is_listed(state)],
        "timers": _timer_services(operator),
    }
    return {key: value for key, value in entry.items() if value is not None}


def _is_listed(state: StateInventory) -> bool:
    return state.kind in (*_SPELT, UNKNOWN_KIND) and state.name != SOURCE_READER


def _state(state: StateInventory) -> dict[str, str]:
    if state.kind == UNKNOWN_KIND:
        return {"name": state.name or ""}
    entry = {"name": state.name or "", "kind": _SPELT[state.kind]}
    if state.type is None:
        return entry
    types = arrows(state.type_in_full or state.type)
    if state.kind in KEYED_KINDS:
        entry["key"], *types = types
    return entry | {"type": " -> ".join(types)}


def _timer_services(operator: OperatorInventory) -> list[str]:
    """Return the names in ``_timer_state/event_NAME`` and ``_timer_state/processing_NAME``."""
    names = [state.name or "" for state in operator.states if state.kind == TIMERS]
    services = (name.removeprefix(_TIMERS).partition("_")[2] for name in names)
    return list(dict.fromkeys(services))
