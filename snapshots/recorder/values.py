"""Values and states as JSON text, refused at the call if a reader of the log would refuse them."""

from __future__ import annotations

import json
import re
from typing import Any

_LARGEST = 2**63 - 1
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_MANY_DIGITS = re.compile(r"\d{19}")


def json_text(value: Any) -> str:
    """Return a value as JSON. What happens to the value later does not change what is logged.

    Raises: TypeError or ValueError if it cannot be written: a type that JSON lacks, NaN or
        infinity, a whole number beyond 63 bits, or text that is not Unicode.
    """
    if type(value) is int and -_LARGEST <= value <= _LARGEST:
        return str(value)
    text = _ENCODER.encode(value)
    text.encode()  # raises if half of a surrogate pair is in it
    if _MANY_DIGITS.search(text):
        _check_numbers(value)
    return text


def _check_numbers(value: Any) -> None:
    if isinstance(value, dict):
        for item in value.values():
            _check_numbers(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _check_numbers(item)
    elif isinstance(value, int) and not -_LARGEST <= value <= _LARGEST:
        raise ValueError(f"{value} has more than 63 bits. Log it as text.")
