"""The page that says whose the bytes of a checkpoint are."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from snapshots import access
from snapshots.answers import inventory, inventory_bytes
from snapshots.domain.inventory.byte_shares import (
    CheckpointBytes,
    HeavyKey,
    OperatorBytes,
    PlaceBytes,
)
from snapshots.domain.inventory.model import COMPLETED, number_words
from snapshots.domain.inventory.series import Pair
from snapshots.quantities import counted, file_size
from snapshots.web.figures import byte_maps
from snapshots.web.pages.rendering import page
from snapshots.web.tables.sending import show

MOST_SECTORS = 4_000  # of the map of entries
MOST_KEYS = 10  # of each list
LONGEST_KEY = 120  # characters
ENTRY_SIZES = {
    "flink": "The size of an entry is that of its key, namespace and value as they are stored, "
    "before compression.",
    "spark": "Spark's files do not tell the size of a single row. The size of an entry here is "
    "that of its key and value written as JSON.",
    "seatunnel": "The size of an entry is that of the element's bytes in the file.",
}
NEW_WORDS = {
    "flink": "New is what the checkpoint itself uploaded, as Flink counts it. The rest is state of "
    "earlier checkpoints that it names again. A small file lies inside _metadata and is written "
    "with each checkpoint, although Flink counts it as taken over.",
    "spark": "New are the files that no earlier batch needs. The rest are files of earlier batches "
    "without which the state cannot be put together.",
    "seatunnel": "Every file of SeaTunnel holds the whole state, so that all of it is new.",
}


@page
@require_safe
def of_checkpoint(request: HttpRequest, pk: int, number: int) -> HttpResponseBase:
    """Show the bytes of a checkpoint by operator, state, key group and key."""
    recording = access.recording(request.user, pk)
    opened = inventory.opened(recording)
    engine = opened.upload["engine"]
    checkpoint = inventory.checkpoint(opened, number)
    shares = inventory_bytes.bytes_of(opened, number)
    maps = inventory_bytes.sectors(shares, MOST_SECTORS, engine)
    address = f"/recordings/{pk}/contents/{number}"
    context = {
        "recording": recording,
        "number": number,
        "engine": engine,
        "checkpoint": checkpoint,
        "shares": shares,
        "sentences": list(_sentences(checkpoint, shares)),
        "maps": maps,
        "figures": {name: _figure(maps[name], name) for name in ("stored", "entries")},
        "operators": [_operator(item, address, engine) for item in _largest_first(shares)],
        "entry_sizes": ENTRY_SIZES[engine],
        "new_words": "" if shares.new == 0 else NEW_WORDS[engine],
        "by_bytes": [_key(key, address) for key in shares.heaviest.by_bytes[:MOST_KEYS]],
        "by_entries": [_key(key, address) for key in shares.heaviest.by_entries[:MOST_KEYS]],
        "api": f"/api{address}/bytes",
    }
    return show(request, "snapshots/inventory/bytes.html", context)


def _figure(sectors: dict[str, Any], root: str) -> dict[str, Any]:
    """Return a map as a figure, and what can be opened in it."""
    return {
        "figure": byte_maps.figure(sectors, root),
        "levels": byte_maps.levels(sectors, root),
    }


def _largest_first(shares: CheckpointBytes) -> list[OperatorBytes]:
    return sorted(shares.operators, key=lambda item: -(item.bytes.after or 0))


def _sentences(checkpoint: dict[str, Any], shares: CheckpointBytes) -> Iterator[str]:
    """Yield what the page has to say, the most important first."""
    size, new = shares.bytes.after, shares.new
    yield _size(checkpoint, size)
    if size and (first := next(iter(_largest_first(shares)), None)) and first.bytes.after:
        yield _largest(first, size)
    if size and new == size:
        yield "All of it is new."
    elif new is not None and size:
        yield f"{file_size(new)} are new, {file_size(size - new)} taken over from earlier."
    elif new is None and shares.why_new_unknown:
        yield f"How much of it is new is not known. {shares.why_new_unknown}"
    yield _growth(shares)


def _size(checkpoint: dict[str, Any], size: int | None) -> str:
    name = f"{checkpoint['kind']} {number_words(checkpoint['kind'], checkpoint['id'])}"
    if size is None:
        return f"It is not known how large {name} is."
    if checkpoint["problem"]:
        return f"Of {name} the upload has a report of {file_size(size)}, but no files."
    if checkpoint["status"] != COMPLETED:
        return f"{name.capitalize()} did not complete; {file_size(size)} of it were written."
    return f"{name.capitalize()} takes {file_size(size)}."


def _largest(first: OperatorBytes, size: int) -> str:
    name, own = first.name or first.operator, first.bytes.after or 0
    if own == size:
        return f"All of it is of {name}."
    return f"{name} takes most: {file_size(own)}, {own / size * 100:.0f} % of it."


def _growth(shares: CheckpointBytes) -> str:
    before, after = shares.bytes.before, shares.bytes.after
    if before is None or after is None:
        reason = shares.why_growth_unknown or "One of both sizes is not known."
        return f"How much it grew is not known. {reason}"
    if before == after:
        return f"It is as large as number {shares.since} was."
    word = "grew" if after > before else "shrank"
    return f"It {word} by {file_size(abs(after - before))} since number {shares.since}."


def change_text(pair: Pair) -> str | None:
    """Say how much a size grew, as in "+1.2 kB". None if it is not known."""
    if pair.before is None or pair.after is None:
        return None
    difference = pair.after - pair.before
    if not difference:
        return "±0"
    return f"{'+' if difference > 0 else '−'}{file_size(abs(difference))}"


def _operator(item: OperatorBytes, address: str, engine: str) -> dict[str, Any]:
    size = item.bytes.after
    taken_over = None if size is None or item.new is None else size - item.new
    return {
        "name": item.name or item.operator,
        "bytes": size,
        "new": item.new,
        "taken_over": taken_over,
        "growth": change_text(item.bytes),
        "parts": item.parts,
        "states": [
            {
                "name": state.name or "not known",
                "kind": state.kind,
                "entries": state.entries,
                "bytes": state.bytes.after,
                "growth": change_text(state.bytes),
                "reason": state.reason,
                "address": f"{address}?{_state_query(item.operator, state.name)}#entries",
                "places": _places(state.places, engine),
            }
            for state in item.states
        ],
    }


def _state_query(operator: str, state: str | None, **more: str) -> str:
    return urlencode({"operator": operator, "state": state or "", **more})


def _places(places: tuple[PlaceBytes, ...], engine: str) -> str | None:
    """Say over how many key groups or subtasks a state is spread, and which takes most."""
    held = [item for item in places if item.bytes.after]
    if not held:
        return None
    most = max(held, key=lambda item: item.bytes.after or 0)
    name = inventory_bytes.place_name(most.key_group, most.subtask, engine)
    if len(held) == 1:
        return name
    noun = name.rpartition(" ")[0] or "subtask"
    return f"{counted(len(held), noun)}, most in {name}: {file_size(most.bytes.after or 0)}"


def _key(key: HeavyKey, address: str) -> dict[str, Any]:
    text = key.key
    shown = text if text is None or len(text) <= LONGEST_KEY else f"{text[:LONGEST_KEY]}…"
    is_whole = text is not None and len(text) == key.characters
    query = _state_query(key.operator, key.state, **({"q": text} if is_whole and text else {}))
    return {
        "text": shown,
        "characters": key.characters if shown != text else None,
        "head": key.head,
        "operator": key.name or key.operator,
        "state": key.state,
        "key_group": key.key_group,
        "bytes": key.bytes,
        "entries": key.entries,
        "address": f"{address}?{query}#entries",
    }
