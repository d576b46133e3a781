"""Read which part of a cut or snapshot a question asks for.

A question that makes no sense raises ``Invalid`` with the name of the field.
"""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from snapshots.domain.model.topology import ChannelId
from snapshots.problems import Invalid, NotFound
from snapshots.store.excerpts import Excerpt
from snapshots.store.mapped import Ints
from snapshots.store.reader import StoredRecording

MOST_LISTED = 500
_MOST_SKIPPED = 2**62
_CODE = re.compile(r"\d{1,9}", re.ASCII)
_SKIPPED = ("first_process", "first_channel", "first_message")


def excerpt_of(stored: StoredRecording, question: Mapping[str, Any]) -> Excerpt | None:
    """Return the part that a question asks for, or None where it has no limit.

    Raises: Invalid; NotFound if it names a channel that the recording does not have.
    """
    channel, limit = question.get("channel"), question.get("limit")
    skipped = {name: _whole_number(question.get(name), name) for name in _SKIPPED}
    processes = _codes(question, "process_codes", len(stored.tables.all_processes))
    channels = _codes(question, "channel_codes", len(stored.tables.all_channels))
    has_outline = question.get("outline") is True
    if limit is None and (has_outline or processes is not None or channels is not None):
        limit = MOST_LISTED
    if limit is None:
        _refuse_without_limit(channel, skipped)
        return None
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_LISTED:
        raise Invalid(f"limit must be a whole number, 1 to {MOST_LISTED}.", field="limit")
    if channel is not None:
        _require_channel(stored, channel)
    elif skipped["first_message"]:
        raise Invalid("first_message needs a channel.", field="first_message")
    return Excerpt(
        limit,
        channel=channel,
        processes=processes,
        channels=channels,
        has_outline=has_outline,
        **skipped,
    )


def not_in_snapshot(channel: str) -> NotFound:
    """Return the refusal for a channel that does not belong to a snapshot."""
    return NotFound(f"The channel “{channel[:80]}” does not belong to this snapshot.")


def _codes(question: Mapping[str, Any], field: str, count: int) -> Ints | None:
    """Return the codes that a field lists, ascending; None where it is absent. Raises: Invalid."""
    text = question.get(field)
    if text is None:
        return None
    items = text.split(",") if isinstance(text, str) and text else []
    is_list = isinstance(text, str) and all(_CODE.fullmatch(item) for item in items)
    if not is_list or len(items) > MOST_LISTED:
        raise Invalid(f"{field} must be at most {MOST_LISTED} codes, as in 0,3,8.", field=field)
    codes = np.unique(np.array(items, np.int64))
    if len(codes) and codes[-1] >= count:
        what = field.removesuffix("_codes")
        raise Invalid(f"There is no {what} with the code {codes[-1]}.", field=field)
    return codes


def _whole_number(value: Any, field: str) -> int:
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST_SKIPPED:
        raise Invalid(f"{field} must be a whole number, 0 or more.", field=field)
    return value


def _refuse_without_limit(channel: Any, skipped: Mapping[str, int]) -> None:
    """Refuse what would be left without an effect. Raises: Invalid."""
    named = [*(("channel",) if channel is not None else ()), *(n for n, v in skipped.items() if v)]
    if named:
        raise Invalid(f"{named[0]} needs a limit.", field=named[0])


def _require_channel(stored: StoredRecording, channel: Any) -> None:
    try:
        stored.tables.channel_code(ChannelId(channel))
    except (KeyError, TypeError):
        raise NotFound(f"There is no channel “{str(channel)[:80]}” in this recording.") from None
