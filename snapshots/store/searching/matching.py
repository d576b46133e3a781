"""Tell which rows of a chunk of the events hold a word."""

import re
from collections.abc import Mapping, Sequence
from functools import partial, reduce
from operator import or_

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from snapshots.store.decoding import StoredPart
from snapshots.store.layout import NONE
from snapshots.store.searching.words import NAMES, TEXTS, TIME, Word
from snapshots.store.tables import Tables

Mask = NDArray[np.bool_]

_AS_JSON = ("value", "state", "extra")


class Matcher:
    """Finds one word in chunks of the events.

    Attributes:
        names: for each field of names the codes that match, by field; codes count from 0, and the
            last place is for events without one.
        texts: the fields of text to look in.
        is_whole: whether the word counts only where no letter or digit is next to it.
    """

    def __init__(self, tables: Tables, word: Word) -> None:
        self.word = word
        lists = _lists(tables)
        fields = [name for name in NAMES if word.field in (None, name)]
        exact = any(name.lower() == word.text for field in fields for name in lists[field])
        self.names = {field: _codes(lists[field], word.text, exact) for field in fields}
        self.texts = tuple(name for name in TEXTS if word.field in (None, name))
        self.is_whole = word.is_number or (exact and word.field is None)
        self.sought_in_values = "value" in self.texts and word.field != TIME

    def rows(self, part: StoredPart, first: int, end: int) -> Mask:
        """Return which events of the rows first .. end - 1 of a part hold the word."""
        rows = slice(first, end)
        if self.word.instants is not None:
            low, high = self.word.instants
            at = part.numbers("at", rows)
            return (at >= low) & (at <= high)
        masks = [codes[part.numbers(field, rows)] for field, codes in self.names.items()]
        masks += [
            part.matching(field, rows, partial(self.holding, field=field)) for field in self.texts
        ]
        return reduce(or_, masks)

    def holding(self, column: pa.Array, field: str) -> Mask:
        """Return which texts of a column hold the word; a null holds nothing."""
        text = _json_inside(self.word.text) if field in _AS_JSON else self.word.text
        lower = pc.utf8_lower(column) if text.lower() != text.upper() else column
        holding = pc.fill_null(pc.match_substring(lower, text), False)
        mask: Mask = holding.to_numpy(zero_copy_only=False)
        if self.is_whole and mask.any():
            mask = mask.copy()
            rows = np.flatnonzero(mask)
            whole = pc.match_substring_regex(lower.take(pa.array(rows)), self._whole(text))
            mask[rows] = whole.to_numpy(zero_copy_only=False)
        return mask

    def _whole(self, text: str) -> str:
        beside = "[^0-9.]" if self.word.is_number else r"[^\pL\pN_]"
        return f"(^|{beside}){re.escape(text)}($|{beside})"


def _lists(tables: Tables) -> Mapping[str, Sequence[str]]:
    return {
        "process": [process.id for process in tables.topology.processes],
        "channel": [channel.id for channel in tables.topology.channels],
        "kind": tables.manifest.kinds,
        "snapshot": tables.manifest.snapshots,
    }


def _codes(names: Sequence[str], text: str, exact: bool) -> Mask:
    """Return which codes have the name, or without an exact name hold it; NONE never does."""
    lower = [name.lower() for name in names]
    return np.array([name == text if exact else text in name for name in lower] + [False])


def _json_inside(text: str) -> str:
    """Return a text as it stands inside a JSON string."""
    return orjson.dumps(text).decode()[1:-1]


def message_ends(tables: Tables, part: int, matcher: Matcher, first: int, end: int) -> "Ends":
    """Return the events that send and receive the messages whose value holds the word.

    The values stand with the messages; an event has only those of messages that are not matched.
    """
    messages = tables.messages.table.pick_rows(part, first, end)
    rows = np.flatnonzero(messages.matching("value", partial(matcher.holding, field="value")))
    codes = messages.codes[rows]
    sent = messages.values("sent_index")[rows]
    received = messages.values("received_index")[rows]
    arrived = (received != NONE) & ~tables.messages.taken(codes, received)
    return (
        np.concatenate((tables.source[codes], tables.target[codes[arrived]])),
        np.concatenate((sent, received[arrived])),
    )


Ends = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Processes and indices [N] of events."""
