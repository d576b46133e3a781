"""Simplifies what ``stream`` has read: collections become lists and maps, and boxes their values.

What the well-known collections write is in the Java platform's own documentation of each class
("Serialized Form"). A collection that does not hold what it says is left as it is.
"""

from collections.abc import Callable, Mapping

_BOXES = frozenset(
    f"java.lang.{name}"
    for name in (
        "Boolean", "Byte", "Character", "Double", "Float", "Integer", "Long", "Short",
    )
)  # fmt: skip
# The class that writes the elements, and the byte of its block at which their number stands.
_LISTS = {
    "java.util.ArrayDeque": 0,
    "java.util.CollSer": 0,
    "java.util.HashSet": 8,
    "java.util.LinkedList": 0,
    "java.util.concurrent.CopyOnWriteArrayList": 0,
}
_MAPS = {
    "java.util.EnumMap": 0,
    "java.util.HashMap": 4,
    "java.util.Hashtable": 4,
    "java.util.IdentityHashMap": 0,
    "java.util.TreeMap": 0,
}
_WRAPPED = {
    "java.util.Arrays$ArrayList": "a",
    "java.util.Collections$SynchronizedCollection": "c",
    "java.util.Collections$SynchronizedList": "list",
    "java.util.Collections$SynchronizedMap": "m",
    "java.util.Collections$SynchronizedRandomAccessList": "list",
    "java.util.Collections$SynchronizedSet": "c",
    "java.util.Collections$UnmodifiableCollection": "c",
    "java.util.Collections$UnmodifiableList": "list",
    "java.util.Collections$UnmodifiableMap": "m",
    "java.util.Collections$UnmodifiableRandomAccessList": "list",
    "java.util.Collections$UnmodifiableSet": "c",
}
_IMMUTABLE_MAP = 3  # the tag of what Map.of and its like give
_EMPTY: Mapping[str, Callable[[], object]] = {
    "java.util.Collections$EmptyList": list,
    "java.util.Collections$EmptyMap": dict,
    "java.util.Collections$EmptySet": list,
}


def plain(value: object) -> object:
    """Return a value with plain collections and boxes at every depth; other objects stay.

    A set or list becomes a list. A map becomes {key: value} if all keys are different texts, else a
    list of [key, value].
    """
    if isinstance(value, list):
        return [plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    inner = {key: plain(item) for key, item in value.items()}
    name, fields = inner.get("class"), inner.get("fields")
    if not isinstance(name, str) or not isinstance(fields, dict):
        return inner
    if name in _BOXES:
        return fields.get("value", inner)
    if name in _EMPTY:
        return _EMPTY[name]()
    if name in _WRAPPED:
        return fields.get(_WRAPPED[name], inner)
    return inner if "id" in inner else _collection(inner, fields)


def _collection(value: dict, fields: dict) -> object:
    if value["class"] == "java.util.Collections$SingletonMap":
        return _map([fields.get("k"), fields.get("v")], 1, value)
    if value["class"] in (
        "java.util.Collections$SingletonList",
        "java.util.Collections$SingletonSet",
    ):
        return [fields["element"]] if "element" in fields else value
    if value["class"] in ("java.util.Vector", "java.util.Stack"):
        return _vector(fields, value)
    written = value.get("written")
    if not isinstance(written, dict) or len(written) != 1:
        return value
    ((writer, contents),) = written.items()
    if writer == "java.util.ArrayList":
        return _list(contents[1:], fields.get("size"), value)
    if writer == "java.util.concurrent.ConcurrentHashMap" and contents[-2:] == [None, None]:
        return _map(contents[:-2], len(contents) // 2 - 1, value)
    if writer == "java.util.CollSer" and fields.get("tag") == _IMMUTABLE_MAP:
        return _map(contents[1:], (_number(contents, 0) or 0) // 2, value)
    if writer == "java.util.TreeSet":
        return _list(contents[2:], _number(contents[1:], 0), value)
    if writer in _LISTS:
        return _list(contents[1:], _number(contents, _LISTS[writer]), value)
    if writer in _MAPS:
        return _map(contents[1:], _number(contents, _MAPS[writer]), value)
    return value


def _number(contents: list, at: int) -> int | None:
    """Return the int at byte ``at`` of the block with which the contents begin, if there is one."""
    if not contents or not isinstance(contents[0], dict) or "block" not in contents[0]:
        return None
    data = bytes.fromhex(contents[0]["block"])[at : at + 4]
    return int.from_bytes(data, "big") if len(data) == 4 else None


def _list(items: list, size: object, otherwise: dict) -> object:
    return items if len(items) == size else otherwise


def _vector(fields: dict, otherwise: dict) -> object:
    """Return the items of a Vector, whose array may be longer."""
    items, size = fields.get("elementData"), fields.get("elementCount")
    if not isinstance(items, list) or type(size) is not int or not 0 <= size <= len(items):
        return otherwise
    return items[:size]


def _map(items: list, size: object, otherwise: dict) -> object:
    if len(items) % 2 or len(items) // 2 != size:
        return otherwise
    keys, values = items[::2], items[1::2]
    if all(isinstance(key, str) for key in keys) and len(set(keys)) == len(keys):
        return dict(zip(keys, values, strict=True))
    return [list(pair) for pair in zip(keys, values, strict=True)]
