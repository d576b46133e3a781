"""Values of PyFlink's states, by the form of their bytes.

A Python worker process gives Flink byte arrays only, and nothing in a checkpoint names their coder.
So a form counts only if it fits to the last byte, and bytes that fit none stay bytes. A pickle is
marked and never loaded. Source: PyFlink, coder_impl_fast and state_impl: LONG is 8 bytes
big-endian, STRING a length and UTF-8, PICKLED a length and the pickle, ROW the kind of the row in
two bits and a bit for each field that is null, then the other fields. The elements of a list, and
the fields of a tuple, follow each other.
"""

from struct import unpack_from

STATE_PREFIX = "python-state-"
NOTE = (
    "The savepoint does not name the coders of PyFlink's states. Values are shown by the form of "
    "their bytes, and another coder can give the same bytes: two INT are shown as one LONG. A "
    "pickle is shown as bytes and is not loaded."
)
_LONGEST = 4096  # bytes of an array that is tried
_PLAUSIBLE = 2**52  # a larger LONG might be a DOUBLE
_ROW_KIND = 2  # bits before those of the nulls
_MASKS = (1, 2)  # bytes
_PICKLE, _STOP = b"\x80", b"."
_NEWEST_PICKLE = 5
Items = list[object]


def is_python(state: str) -> bool:
    """Tell whether a state of that name was made by PyFlink in a worker process."""
    return state.startswith(STATE_PREFIX)


def python_value(value: object) -> object:
    """Return a decoded value with the byte arrays in it shown by their form.

    Args:
        value: a list of byte arrays, or a map of them as a list of pairs. A byte array is
            ``{"hex": text}``; with a time to live it is in ``{"userValue": …}``.
    """
    if isinstance(value, list) and value and all(map(_is_bytes, value)):
        arrays = [_items(bytes.fromhex(array["hex"])) for array in value]
        found = [item for items in arrays if items is not None for item in items]
        if all(items is not None for items in arrays):
            return found[0] if len(found) == 1 else found
        return value
    if isinstance(value, list):
        return [_element(element) for element in value]
    return _element(value)


def _element(value: object) -> object:
    if _is_bytes(value):
        assert isinstance(value, dict)
        items = _items(bytes.fromhex(value["hex"]))
        if items is None:
            return value
        return items[0] if len(items) == 1 else items
    if isinstance(value, dict) and "userValue" in value:
        return value | {"userValue": python_value(value["userValue"])}
    if isinstance(value, list):
        return [_element(part) for part in value]
    return value


def _is_bytes(value: object) -> bool:
    return isinstance(value, dict) and value.keys() == {"hex"} and isinstance(value["hex"], str)


def _items(data: bytes) -> Items | None:
    """Return what one byte array holds; None if no form fits."""
    if not data or len(data) > _LONGEST:
        return None
    return _sequence(data) or _row(data)


def _sequence(data: bytes) -> Items | None:
    """Return the strings, numbers and pickles that follow each other to the last byte."""
    follows: dict[int, tuple[object, int] | None] = {len(data): None}
    for begin in range(len(data) - 5, -1, -1):
        for item, end in (_text_at(data, begin), _number_at(data, begin)):
            if end in follows:
                follows[begin] = item, end
                break
    if 0 not in follows:
        return None
    items: Items = []
    step = follows[0]
    while step is not None:
        items.append(step[0])
        step = follows[step[1]]
    return items


def _text_at(data: bytes, begin: int) -> tuple[object, int]:
    """Return a string or a pickle and where it ends; -1 if there is none."""
    (length,) = unpack_from(">i", data, begin)
    end = begin + 4 + length
    if length <= 0 or end > len(data):
        return None, -1
    content = data[begin + 4 : end]
    if content[:1] == _PICKLE and content[-1:] == _STOP and 2 <= content[1] <= _NEWEST_PICKLE:
        return {"pickle": {"hex": content.hex()}}, end
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None, -1
    return (text, end) if text.isprintable() else (None, -1)


def _number_at(data: bytes, begin: int) -> tuple[object, int]:
    """Return a LONG and where it ends; -1 if there is none."""
    if begin + 8 > len(data):
        return None, -1
    (number,) = unpack_from(">q", data, begin)
    return (number, begin + 8) if abs(number) < _PLAUSIBLE else (None, -1)


def _row(data: bytes) -> Items | None:
    for size in _MASKS:
        bits = f"{int.from_bytes(data[:size]):0{8 * size}b}"
        fields = _sequence(data[size:]) if len(data) > size else []
        if fields is None or "1" in bits[:_ROW_KIND]:
            continue
        nulls = bits[_ROW_KIND:]
        row: Items = []
        while fields or "1" in nulls[len(row) :]:
            is_null = nulls[len(row) : len(row) + 1] == "1"
            if not is_null and not fields:
                return None
            row.append(None if is_null else fields.pop(0))
        if 0 < len(row) <= len(nulls) and any(field is not None for field in row):
            return [row]
    return None
