"""Format numbers, durations and values for people, as ``static/js/lib/format.js`` also does."""

import json
import math
from datetime import UTC, datetime
from typing import Any

_NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
}
_UNITS = [
    ("ns", 1),
    ("µs", 10**3),
    ("ms", 10**6),
    ("s", 10**9),
    ("min", 60 * 10**9),
    ("h", 3600 * 10**9),
    ("d", 86400 * 10**9),
]


def thousands(number: float) -> str:
    """Format a number as in "1,234,567"; fractions keep at most three digits."""
    if isinstance(number, float) and not number.is_integer():
        return f"{number:,.3f}".rstrip("0").rstrip(".")
    return f"{int(number):,}"


def counted(number: int, noun: str, plural: str = "") -> str:
    """Format a number with its noun, as in "1 event" and "2,000 events"."""
    return f"{thousands(number)} {noun if number == 1 else plural or noun + 's'}"


def percent(share: float) -> str:
    """Return a share as percent: 0.4217 is "42 %"."""
    return f"{share * 100:.0f} %"


def epoch(milliseconds: int) -> str:
    """Format epoch milliseconds: 1795188546004 is "2026-11-20 10:09:06.004 UTC"."""
    try:
        moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return f"{thousands(milliseconds)} ms"
    return f"{moment:%Y-%m-%d %H:%M:%S}.{milliseconds % 1000:03d} UTC"


def window(start: int, end: int) -> str:
    """Format a window between two instants in epoch milliseconds.

    A window of some seconds is "2024-05-01 00:00:00 to 00:00:20 UTC".
    """
    first, last = epoch(start), epoch(end)
    if not (first.endswith(" UTC") and last.endswith(" UTC")):
        return f"{first} to {last}"
    first, last = first.removesuffix(" UTC"), last.removesuffix(" UTC")
    if first.endswith(".000") and last.endswith(".000"):
        first, last = first.removesuffix(".000"), last.removesuffix(".000")
    day = len("2024-05-01 ")
    return f"{first} to {last[day:] if first[:day] == last[:day] else last} UTC"


def moment(amount: int | None, unit: str, zero: int | None) -> int | None:
    """Return the epoch milliseconds of an instant, if ``zero`` are those of instant 0.

    The result is None if either is not known or the unit is not a unit of time.
    """
    if amount is None or zero is None or unit not in _NANOSECONDS:
        return None
    return zero + amount * _NANOSECONDS[unit] // 10**6


def three_digits(number: float) -> str:
    """Format a number with three significant digits, as in "9.81", "12.4", "124" and "12,400"."""
    if number == 0:
        return "0"
    decimals = max(0, min(3, 2 - math.floor(math.log10(abs(number)))))
    return thousands(float(f"{number:.{decimals}f}"))


def duration(amount: float, unit: str) -> str:
    """Format a duration with three digits in the largest fitting unit: 12400 us is "12.4 ms"."""
    name, size = _unit_for(amount, unit)
    if size is None:
        return f"{thousands(amount)} {name}"
    return f"{three_digits(amount * _NANOSECONDS[unit] / size)} {name}"


def scale_for(amount: float, unit: str) -> tuple[str, float]:
    """Return the unit in which an axis of that length is labelled, and how many ``unit`` it has."""
    name, size = _unit_for(amount, unit)
    return name, 1 if size is None else size / _NANOSECONDS[unit]


def age(milliseconds: int) -> str:
    """Format how long ago something was in its two largest units, as in "4 h 12 min"."""
    left = max(0, milliseconds) // 1000
    parts: list[str] = []
    for name, seconds in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        count, left = divmod(left, seconds)
        if count or parts or name == "s":
            parts.append(f"{count:,} {name}")
        if len(parts) == 2:
            break
    return " ".join(part for part in parts if not (len(parts) == 2 and part.startswith("0 ")))


def instant(amount: int, unit: str) -> str:
    """Format an instant with every digit: 12400 us is "12.4 ms", 95000001 us is "95.000001 s"."""
    name, size = _unit_for(amount, unit, decimal=True)
    if size is None:
        return f"{thousands(amount)} {name}"
    whole, rest = divmod(abs(amount) * _NANOSECONDS[unit], size)
    decimals = len(str(size // _NANOSECONDS[unit])) - 1
    fraction = f"{rest * 10**decimals // size:0{decimals}d}".rstrip("0") if rest else ""
    return f"{'-' if amount < 0 else ''}{whole:,}{'.' if fraction else ''}{fraction} {name}"


def _unit_for(amount: float, unit: str, *, decimal: bool = False) -> tuple[str, int | None]:
    """Return the unit to write in and its nanoseconds; None for a unit that is not of time.

    With ``decimal`` no unit is above seconds, since minutes have no finite decimal fraction.
    """
    if unit not in _NANOSECONDS:
        return unit, None
    own = _NANOSECONDS[unit]
    units = [(name, ns) for name, ns in _UNITS if own == ns or not decimal or ns <= 10**9]
    fitting = [(name, ns) for name, ns in units if own <= ns <= abs(amount) * own]
    return fitting[-1] if fitting else next(item for item in _UNITS if item[1] == own)


BYTES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def file_size(size: int) -> str:
    """Format a size in bytes, as in "812 B", "12.4 kB" and "1.07 GB"; a kB is 1,000 B."""
    amount, name = float(size), "B"
    for larger in list(BYTES)[1:]:
        if amount < 999.5:
            break
        amount, name = amount / 1000, larger
    return f"{three_digits(amount)} {name}"


def amount(number: Any, unit: str | None) -> str:
    """Format a number in one of the units of ``domain/inventory/model.py``, or without a unit."""
    if isinstance(number, bool) or not isinstance(number, int | float):
        return str(number)
    match unit:
        case "epoch ms":
            return epoch(int(number))
        case "ms":
            return duration(number, "ms")
        case "bytes":
            return file_size(int(number))
        case "count":
            return thousands(number)
    return str(number)


def value(item: Any) -> str:
    """Format a state or message value on one line: {"balance": 9000} is "balance: 9,000".

    An object in an object stands in brackets: {"a": {"b": 1, "c": 2}} is "a (b: 1, c: 2)".
    """
    if item is None:
        return "null"
    if isinstance(item, str):
        return item
    if isinstance(item, int | float) and not isinstance(item, bool):
        return f"{item:,}"
    if isinstance(item, dict):
        return ", ".join(map(_member, item.items()))
    return json.dumps(item, ensure_ascii=False)


def _member(pair: tuple[str, Any]) -> str:
    key, part = pair
    return f"{key} ({value(part)})" if isinstance(part, dict) else f"{key}: {value(part)}"
