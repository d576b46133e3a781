"""Read fields of one type from JSON answers; a field that is absent or of another type is None."""

from typing import Any


def mapping(value: object, *keys: str) -> dict[str, Any]:
    """Return the object at a path of keys; empty if there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def items(value: object, key: str) -> list[dict[str, Any]]:
    """Return the objects in the list at ``key``."""
    values = value.get(key) if isinstance(value, dict) else None
    return [item for item in values if isinstance(item, dict)] if isinstance(values, list) else []


def number(value: dict[str, Any], key: str) -> int | None:
    """Return an integer of 0 or more below 2^63; Flink writes -1 for an unknown one."""
    field = value.get(key)
    return field if type(field) is int and 0 <= field < 2**63 else None


def text(value: dict[str, Any], *keys: str) -> str | None:
    """Return the text at the first of ``keys`` that has one."""
    return next((value[key] for key in keys if isinstance(value.get(key), str)), None)


def flag(value: dict[str, Any], key: str) -> bool | None:
    field = value.get(key)
    return field if isinstance(field, bool) else None
