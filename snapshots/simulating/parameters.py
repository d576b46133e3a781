"""How parameters of simulations are read. Whatever is wrong is Refused, with the field.

``of``: what the parameters are a part of; within ``checkpoints`` the field of a wrong ``interval``
is ``checkpoints.interval``.
"""

from collections.abc import Collection, Mapping
from typing import Any

from snapshots.problems import Refused

LARGEST_SEED = 2**63 - 1
LARGEST_TIME = 10**15  # us, some thirty years
LARGEST_DELAY = 10**9  # us


def refused(sentence: str, field: str) -> Refused:
    return Refused(sentence, code="invalid-field", field=field)


def check_names(parameters: Mapping[str, Any], known: Collection[str], of: str = "") -> None:
    for name in parameters:
        if name not in known:
            raise refused(f"There is no parameter {name[:60]!r}.", _path(name[:60], of))


def one_of(parameters: Mapping[str, Any], field: str, names: Collection[str], default: str) -> str:
    value = parameters.get(field, default)
    if not isinstance(value, str) or value not in names:
        raise refused(f"The {field} is one of {', '.join(names)}.", field)
    return value


def flag(parameters: Mapping[str, Any], field: str, default: bool) -> bool:
    value = parameters.get(field, default)
    if not isinstance(value, bool):
        raise refused(f"{field} is true or false.", field)
    return value


def whole(
    parameters: Mapping[str, Any], field: str, default: int, low: int, high: int, of: str = ""
) -> int:
    """The default where there is none, or null."""
    value = parameters.get(field)
    if value is None:
        return default
    if not is_whole(value) or not low <= value <= high:
        sentence = f"{field} is a whole number from {low:,} to {high:,}."
        raise refused(sentence, _path(field, of))
    return value


def is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def items(given: Any, field: str, what: str, most: int) -> list[Any]:
    """A list; null is an empty one. what: its items, as in "subtasks"."""
    if given is None:
        return []
    if not isinstance(given, list):
        raise refused(f"{field} is a list of {what}.", field)
    if len(given) > most:
        raise refused(f"At most {most:,} {what}.", field)
    return given


def times(given: Any, field: str, what: str, most: int) -> list[int]:
    """Instants in us, sorted."""
    for place, at in enumerate(items(given, field, what, most)):
        time(at, f"{field}[{place}]")
    return sorted(given or [])


def time(given: Any, field: str) -> int:
    if not is_whole(given) or not 0 <= given <= LARGEST_TIME:
        raise refused(
            f"A time is a whole number of microseconds from 0 to {LARGEST_TIME:,}.", field
        )
    return given


def mapping(given: Any, field: str, sentence: str) -> Mapping[str, Any]:
    """An object; null is an empty one."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise refused(sentence, field)
    return given


def _path(field: str, of: str) -> str:
    return f"{of}.{field}" if of else field
