"""What an older version said, beside what today's version says of the same."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from snapshots.payloads.arrays import numbers_of

OF_NOW = (
    "/api/account", "/api/operator", "/api/tables", "/api/notifications/kinds", "/api/uploads",
    "/api/learn", "/api/marker-rules", "/api/properties", "/api/live",
)  # fmt: skip
"""Calls that answer for the person, the operator or the version, not for what is kept."""
CHANGES_BY_ITSELF = {"job", "total", "version", "last_used_at", "link", "seen_at", "stall"}
"""Fields that differ because queued rows came, somebody asked, the port is another, or time has
passed, as since a collector last looked at a job."""


def differences(said: dict[str, Any], today: dict[str, Any]) -> Iterator[str]:
    """Yield each field that the older version filled, and that is missing or another today."""
    for call, answer in today.items():
        if not call.startswith(OF_NOW):
            for path, old, new in _different(said[call], answer, ""):
                yield f"{call} {path}: {old!r:.200} has become {new!r:.200}"


def _different(old: Any, new: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if _are_typed_arrays(old, new):
        yield from _different(old.get("shape"), new.get("shape"), f"{path}.shape")
        numbers, others = numbers_of(old), numbers_of(new)
        if not np.array_equal(numbers, others, equal_nan=True):
            yield path, numbers.tolist(), others.tolist()
    elif isinstance(old, dict) and isinstance(new, dict):
        for key in old.keys() - CHANGES_BY_ITSELF:
            yield from _different(old[key], new.get(key, "nothing"), f"{path}.{key}")
    elif isinstance(old, list) and isinstance(new, list):
        yield from _different_lists(old, new, path)
    elif old != new:
        yield path, old, new


def _are_typed_arrays(*values: Any) -> bool:
    """Return whether each is numbers as Plotly takes them, of whatever type of number."""
    return all(isinstance(each, dict) and each.keys() >= {"dtype", "bdata"} for each in values)


def _different_lists(old: list[Any], new: list[Any], path: str) -> Iterator[tuple[str, Any, Any]]:
    """Compare items by their id if each has its own: newer ones stand before them."""
    if _have_ids(old) and _have_ids(new):
        by_id = {item["id"]: item for item in new}
        for item in old:
            yield from _different(item, by_id.get(item["id"], "nothing"), f"{path}[{item['id']}]")
        return
    if len(old) != len(new):
        yield f"{path}.length", len(old), len(new)
    for number, (one, other) in enumerate(zip(old, new, strict=False)):
        yield from _different(one, other, f"{path}[{number}]")


def _have_ids(items: list[Any]) -> bool:
    ids = {item["id"] for item in items if isinstance(item, dict) and "id" in item}
    return len(ids) == len(items)


def unexpected(found: Iterator[str], expected: tuple[str, ...]) -> list[str]:
    """Return the differences that no pattern of ``expected`` tells."""
    return [each for each in found if not any(re.search(pattern, each) for pattern in expected)]
