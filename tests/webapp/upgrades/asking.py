"""Every call of an API that only asks, with the ids of what is there.

The document of the API says which calls a version has. Each address is filled from lists, so that
an older version and today's are asked for the same things.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, urlencode

Get = Callable[[str], Any]
"""Returns the JSON of an answer with 200, else None."""

KINDS = ("recordings", "archive", "topologies", "mappings")  # of what has a team
_FIELD = re.compile(r"\{([^}]*)\}")
_OWNED = re.compile(r"(/api/[a-z]+/[0-9]+)/(.*)")


def addresses(document: dict[str, Any], get: Get) -> Iterator[str]:
    """Yield the address of each GET call that can be filled."""
    for path, methods in document["paths"].items():
        for call in (methods["get"],) if "get" in methods else ():
            asks = {
                each["name"]
                for each in call.get("parameters", ())
                if each["in"] == "query" and each.get("required")
            }
            for address in _filled(path, get):
                yield from _with_question(address, asks, get)


def _filled(path: str, get: Get) -> Iterator[str]:
    """Fill the fields of an address from left to right."""
    found = _FIELD.search(path)
    if found is None:
        yield path
        return
    before, after = path[: found.start()], path[found.end() :]
    for value in _values(found[1], before, get):
        yield from _filled(f"{before}{quote(str(value), safe='')}{after}", get)


def _values(field: str, before: str, get: Get) -> list[Any]:
    """Return what may stand in a field behind the beginning of an address."""
    below = _OWNED.fullmatch(before)
    if below is None:
        return _things(field, before, get)
    owner, rest = below.groups()
    match rest:
        case "snapshots/":
            return _of_list(f"{owner}/snapshots", "snapshot", get)
        case "checkpoints/" if "/recordings/" in owner:
            return _of_list(f"{owner}/checkpoints", "checkpoint", get)[:3]
        case "checkpoints/":
            return [0]
        case "checkpoints/0/":
            return _of_list(f"{owner}/checkpoints", "number", get)[:8]
        case "contents/":
            return list(range(len(_member(f"{owner}/contents", "checkpoints", get))))[:2]
        case "events/" | "cones/":
            return [each["id"] for each in _member(f"{owner}/topology", "processes", get)][:2]
        case "timeline/":
            return _of_list(f"{owner}/timeline", "id", get)
    is_second = rest.startswith("contents/1") or field in ("index", "channel", "at")
    return [0] if is_second or field == "after" else []


def _things(field: str, before: str, get: Get) -> list[Any]:
    """Return what may stand in the first field of an address."""
    if field.endswith("kind"):
        return list(KINDS)
    if before == "/api/entries/":
        pks = _of_list("/api/recordings", "id", get)
        return [id for pk in pks for id in _of_list(f"/api/recordings/{pk}/entries", "id", get)]
    if before == "/api/links/":
        pks = _of_list("/api/recordings", "id", get)
        return [key for pk in pks for key in _of_list(f"/api/recordings/{pk}/links", "key", get)]
    return _of_list(before.rstrip("/"), "id", get)


def _with_question(address: str, asks: set[str], get: Get) -> Iterator[str]:
    """Yield an address with each question that it must have."""
    if not asks:
        yield address
        return
    owner = _OWNED.match(address)
    base = owner[1] if owner else ""
    for question in _questions(asks, base, address, get):
        yield f"{address}?{urlencode(question)}"


def _questions(asks: set[str], base: str, address: str, get: Get) -> list[dict[str, Any]]:
    if asks == {"snapshot"}:
        names = _of_list(f"{base}/snapshots", "snapshot", get)
        return [{"snapshot": name} for name in names[:2]]
    if asks == {"parallelism"}:
        return [{"parallelism": 2}]
    if asks == {"query"}:
        return [{"query": "m1"}]
    if asks == {"slow", "healthy"}:
        numbers = _of_list(f"{base}/checkpoints", "number", get)[:2]
        return [{"slow": numbers[0], "healthy": numbers[1]}] if len(numbers) == 2 else []
    if asks == {"left", "right"}:
        pks = _of_list("/api/recordings", "id", get)[:2]
        return [{"left": f"{pks[0]}", "right": f"{pks[1]}"}] if len(pks) == 2 else []
    if asks == {"operator", "state"} and address.endswith("/entries"):
        return [
            {"operator": state["operator"], "state": state["name"]}
            for state in _member(address.removesuffix("/entries"), "states", get)[:2]
        ]
    return []


def _member(address: str, name: str, get: Get) -> list[dict[str, Any]]:
    found = get(address)
    return found.get(name, []) if isinstance(found, dict) else []


def _of_list(address: str, name: str, get: Get) -> list[Any]:
    return [item[name] for item in _member(address, "items", get) if name in item]


def cuts(get: Get) -> Iterator[tuple[str, dict[str, int]]]:
    """Yield the calls that ask for cuts of each recording that is ready, with their bodies."""
    for pk in _of_list("/api/recordings", "id", get):
        if _member(f"/api/recordings/{pk}", "status", get) == "ready":
            for step in (0, 2, 5):
                yield f"/api/recordings/{pk}/cuts", {"step": step}
