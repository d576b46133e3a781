"""Fields of JSON answers that may lack anything: of the type asked for, or None."""


def mapping(value: object, *keys: str) -> dict:
    """The object at ``keys``, one below the other; empty where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def items(value: object, key: str) -> list[dict]:
    """The objects of the list at ``key``."""
    found = value.get(key) if isinstance(value, dict) else None
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def number(value: dict, key: str) -> int | None:
    """A whole number of 0 or more below 2^63; Flink writes -1 where it does not know."""
    found = value.get(key)
    return found if type(found) is int and 0 <= found < 2**63 else None


def text(value: dict, *keys: str) -> str | None:
    """The text at the first of ``keys`` that has one."""
    return next((value[key] for key in keys if isinstance(value.get(key), str)), None)


def flag(value: dict, key: str) -> bool | None:
    found = value.get(key)
    return found if isinstance(found, bool) else None
