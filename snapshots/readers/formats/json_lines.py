"""Parses lines that hold one JSON object each, and says what is wrong with a line that does not."""

import json

import orjson

from snapshots.domain.model.defects import Defect, InputRefused, defect, quoted


def load(text: bytes, line: int) -> dict | Defect:
    """Return the object on a line, or why there is none."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        return _not_utf8(text, line) or _not_json(text, line, error)
    if type(value) is dict:
        return value
    return defect("wrong-type", f"A line must be a JSON object, not {quoted(value)}.", line=line)


def fault(text: bytes, line: int) -> Defect | None:
    """Return why a line is not a JSON object, None if it is one."""
    loaded = load(text, line)
    return loaded if isinstance(loaded, Defect) else None


def object_on(text: bytes, line: int) -> dict:
    """Return the object on a line. Raises: InputRefused if there is none."""
    loaded = load(text, line)
    if isinstance(loaded, Defect):
        raise InputRefused([loaded])
    return loaded


def _not_utf8(text: bytes, line: int) -> Defect | None:
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return defect(
            "not-utf8",
            f"The line is not UTF-8 at byte {error.start + 1} (0x{text[error.start]:02x}). "
            "Save the file as UTF-8.",
            line=line,
        )
    return None


def _not_json(text: bytes, line: int, error: orjson.JSONDecodeError) -> Defect:
    if error.msg.startswith("number is infinity"):
        return defect("number-range", "A number in the line is 2^63 or beyond.", line=line)
    if error.msg.startswith("depth limit"):
        return defect("wrong-type", "The line is nested more than 1,000 levels deep.", line=line)
    if (not_finite := _not_finite(text)) is not None:
        word, field = not_finite
        return defect(
            "not-finite",
            f"{word} is not a JSON number. Leave the field out where the value is not known.",
            line=line,
            field=field,
        )
    hint = ""
    if error.pos >= len(text.decode()) - 1:
        hint = " The line ends in the middle: was the file cut short while it was written?"
    return defect(
        "not-json",
        f"The line is not JSON: {error.msg} at character {error.pos + 1}.{hint}",
        line=line,
    )


def _not_finite(text: bytes) -> tuple[str, str | None] | None:
    """Return the NaN or infinity that a line holds, and the top-level field in which it stands."""
    words: list[str] = []

    def mark(word: str) -> object:
        words.append(word)
        return words

    try:
        value = json.loads(text, parse_constant=mark)
    except (ValueError, RecursionError):
        value = None
    if not words:
        return None
    fields = value.items() if isinstance(value, dict) else ()
    return words[0], next((name for name, item in fields if _holds(item, words)), None)


def _holds(value: object, mark: object) -> bool:
    if isinstance(value, dict):
        return any(_holds(item, mark) for item in value.values())
    if isinstance(value, list) and value is not mark:
        return any(_holds(item, mark) for item in value)
    return value is mark
