"""Answers a search over the events of a stored recording, a page of hits at a time.

An answer takes about a second at most. If that was too little for all events, it says so, and the
same question goes on where this one stopped.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from snapshots.answers.replay import fragment
from snapshots.domain.model.recording import RECEIVE, SEND
from snapshots.problems import Invalid
from snapshots.store.long_texts import LONGEST, excerpt_of_text, shortened
from snapshots.store.reader import StoredRecording
from snapshots.store.searching.search import Search
from snapshots.store.searching.words import NotAQuery, Word, read_query

SECONDS = 1.0
MOST_HITS = 100
HITS = 20
_LARGEST = 2**62
_SHOWN = ("process", "index", "at", "step", "kind", "channel", "snapshot", "message", "label")


def search(stored: StoredRecording, question: Mapping[str, Any]) -> dict[str, Any]:
    """Answer which events hold all words of a query, as SearchAnswer in payloads/search.py.

    Args:
        question: has ``query``, and optionally ``limit`` and one of ``offset`` and ``from_step``.

    Raises: Invalid.
    """
    words = _words(stored, question.get("query"))
    limit = _whole(question.get("limit"), HITS, "limit", most=MOST_HITS)
    offset = _whole(question.get("offset"), 0, "offset")
    from_step = _whole(question.get("from_step"), 0, "from_step")
    if offset and from_step:
        raise Invalid("A search takes offset or from_step, not both.", field="from_step")
    running = stored.search(words)
    try:
        running.advance(SECONDS)
    except Exception:
        stored.forget_search(words)
        raise
    first = offset or running.before(from_step)
    return _answer(stored, running, first, limit)


def _answer(stored: StoredRecording, running: Search, first: int, limit: int) -> dict[str, Any]:
    return {
        "total": running.total,
        "complete": running.is_complete,
        "searched": running.searched / running.rows if running.rows else 1.0,
        "offset": first,
        "hits": [_hit(stored, *running.place(step)) for step in running.steps(first, limit)],
        "bins_of_time": running.bins_of_time.tolist(),
        "bins_of_order": running.bins_of_order.tolist(),
    }


def _words(stored: StoredRecording, query: object) -> tuple[Word, ...]:
    if not isinstance(query, str):
        raise Invalid("A search needs its query as a text.", field="query")
    try:
        return read_query(query, stored.manifest.time_unit)
    except NotAQuery as error:
        raise Invalid(str(error), field="query") from None


def _whole(value: object, default: int, field: str, most: int = _LARGEST) -> int:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise Invalid(f"{field} must be a whole number from 0 to {most}.", field=field)
    return value


def _hit(stored: StoredRecording, process: int, index: int) -> dict[str, Any]:
    event = stored.event(stored.topology.processes[process].id, index)
    value = event["value"]
    if value is None and event["kind"] in (SEND, RECEIVE) and event["flight"]:
        value = _value_of(stored, event["flight"])
    [value] = shortened([value], LONGEST)
    hit = {name: event[name] for name in _SHOWN}
    label = (hit["label"] or "").encode()
    if len(label) > LONGEST:
        hit["label"] = excerpt_of_text(label[:LONGEST], len(label))
    return hit | {"value": fragment(value)}


def _value_of(stored: StoredRecording, flight: Mapping[str, Any]) -> Any:
    """Return the value that stands with a message, not with its events."""
    code = stored.tables.channel_code(flight["channel"])
    ordinals = np.array([flight["ordinal"]])
    [message] = stored.tables.read_messages(np.array([code]), ordinals)
    return message.value
