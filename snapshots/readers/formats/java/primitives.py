"""Reads Java's primitive values, one or an array of them, as JSON can hold them."""

import math
import struct

SIZES = {"B": 1, "C": 2, "D": 8, "F": 4, "I": 4, "J": 8, "S": 2, "Z": 1}  # bytes, by type code
_NUMBERS = {"B": "b", "D": "d", "F": "f", "I": "i", "J": "q", "S": "h"}


def one(code: str, data: bytes) -> object:
    """Return the value in SIZES[code] bytes: a number, a text of one character or a truth value."""
    if code == "C":
        return data.decode("utf-16-be", "replace")
    if code == "Z":
        return data != b"\x00"
    (number,) = struct.unpack(f">{_NUMBERS[code]}", data)
    return finite(number) if code in "DF" else number


def many(code: str, data: bytes) -> object:
    """Return an array's values as a list; bytes become {"hex": text}, and characters a text."""
    if code == "B":
        return {"hex": data.hex()}
    if code == "C":
        return data.decode("utf-16-be", "replace")
    if code == "Z":
        return [byte != 0 for byte in data]
    numbers = struct.unpack(f">{len(data) // SIZES[code]}{_NUMBERS[code]}", data)
    return [finite(number) for number in numbers] if code in "DF" else list(numbers)


def finite(number: float) -> float | str:
    """Return the number, or the name of what JSON has no number for."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return number
