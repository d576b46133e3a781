"""Tell whether a file is an answer of Flink's REST API from its first bytes."""

import re

from snapshots.readers.engines.flink.rest import error_answers
from snapshots.readers.engines.flink.rest.answers import (
    BACK_PRESSURE,
    BY_KEYS,
    JOBS_ALONE,
    MOST_DOCUMENTS,
    OPERATION,
    REQUEST,
    VERTEX,
)
from snapshots.readers.formats.pasted import bare

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_TELLING_KEYS = 3
"""How many keys of an answer the beginning of a longer file must show."""

_TOKEN = re.compile(rb'"((?:[^"\\]|\\.)*)"\s*(:)?|[{}\[\]]')
_OTHER_QUOTES = re.compile(r"[\s\[(]*\{\s*(?:'|“|”)".encode())
_JID = re.compile(rb'"jid"\s*:\s*"[0-9a-f]{32}"')
_ARCHIVED_PATH = re.compile(rb'"path"\s*:\s*"/(?:jobs|config|applications)')
_LISTED_JOB = re.compile(rb'"j?id"\s*:\s*"[0-9a-f]{32}"')
_REQUESTED = re.compile(rb'"request-id"\s*:\s*"[0-9a-f]{32}"')
_OF_NO_JOB = (VERTEX, BACK_PRESSURE)  # alone they do not show that a file is Flink's


def looks_like_json(head: bytes) -> bool:
    """Tell whether a file with this beginning may be an answer."""
    return bare(head).removeprefix(_BYTE_ORDER_MARK).lstrip()[:1] in (b"{", b"[")


def begins_as_answer(start: bytes, is_whole: bool) -> bool:
    """Tell whether the beginning of a file shows an answer, by the keys of its outermost object.

    Args:
        start: the first bytes of the file.
        is_whole: whether these are all its bytes.
    """
    start = _with_plain_quotes(bare(start))
    return any(_shows_answer(shown, start, is_whole) for shown in _outermost_keys(start))


def _with_plain_quotes(start: bytes) -> bytes:
    """Return a beginning with JSON's quotes, if Python or a chat has set others."""
    if _OTHER_QUOTES.match(start) is None:
        return start
    for other in ("'", "“", "”"):
        start = start.replace(other.encode(), b'"')
    return start


def _shows_answer(shown: set[str], start: bytes, is_whole: bool) -> bool:
    if "archive" in shown:
        return _ARCHIVED_PATH.search(start) is not None
    if "plan" in shown:
        return _JID.search(start) is not None
    if shown == {"errors"}:
        return error_answers.begins_as_errors(start.decode("utf-8", "replace"))
    if shown == REQUEST:
        return _REQUESTED.search(start) is not None
    if shown == OPERATION:
        return b'"failure-cause"' in start or b'"location"' in start
    if shown == JOBS_ALONE or "applications" in shown:
        return _LISTED_JOB.search(start) is not None
    return any(
        keys <= shown or (not is_whole and len(keys & shown) >= _TELLING_KEYS)
        for kind, keys in BY_KEYS
        if kind not in _OF_NO_JOB
    )


def _outermost_keys(start: bytes) -> list[set[str]]:
    """Return the keys of each object that stands outermost in JSON, or in its outermost list."""
    found: list[set[str]] = []
    depth = lists = 0
    for token in _TOKEN.finditer(start):
        mark = token.group()[:1]
        if mark == b"[" and depth == 0 and not lists:
            lists = 1
        elif mark in b"{[":
            depth += 1
            if depth == 1:
                if len(found) == MOST_DOCUMENTS:
                    break
                found.append(set())
        elif mark in b"}]":
            depth, lists = (depth - 1, lists) if depth else (0, 0)
        elif depth == 1 and token.group(2):
            found[-1].add(token.group(1).decode("utf-8", "replace"))
    return found
