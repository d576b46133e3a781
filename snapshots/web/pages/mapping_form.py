"""The form of a mapping: what was typed as a document, and a document as what is typed."""

from collections.abc import Mapping
from typing import Any

from django.http import QueryDict

from snapshots.problems import Invalid
from snapshots.readers.logs.mapped.mapping import SECONDS

PLAIN = ("process", "channel", "message", "label", "snapshot")
SEVERAL = ("state", "value")
FIELDS = (
    "name", *PLAIN, *SEVERAL, "kind", "rules", "otherwise", "peer_sent", "peer_received", "at",
    "unit", "fifo",
)  # fmt: skip
_PLACES = {"peer.send": "peer_sent", "peer.receive": "peer_received", "at.unit": "unit"}


def blank() -> dict[str, str]:
    return dict.fromkeys(FIELDS, "") | {
        "rules": "send = send\nreceive = receive",
        "otherwise": "internal",
        "unit": SECONDS,
    }


def posted(form: QueryDict) -> dict[str, str]:
    return {name: form.get(name, "").replace("\r\n", "\n").strip() for name in FIELDS}


def document(typed: Mapping[str, str]) -> dict[str, Any]:
    """What ``readers.mapping.parse`` takes. Raises: Invalid for a line that is no rule."""
    found: dict[str, Any] = {name: typed[name] for name in PLAIN if typed[name]}
    found |= {name: _parts(typed[name], name) for name in SEVERAL if typed[name]}
    if typed["kind"]:
        rules = [{"value": value, "kind": kind} for value, kind in _pairs(typed["rules"], "rules")]
        found["kind"] = {
            "path": typed["kind"],
            "rules": rules,
            "otherwise": typed["otherwise"] or "internal",
        }
    sent, received = typed["peer_sent"], typed["peer_received"]
    if sent or received:
        ends = {"send": sent, "receive": received}
        found["peer"] = {end: path for end, path in ends.items() if path}
    if typed["at"]:
        found["at"] = {"path": typed["at"], "unit": typed["unit"] or SECONDS}
    if typed["fifo"]:
        found["fifo"] = True
    return found


def typed(name: str, document: Mapping[str, Any]) -> dict[str, str]:
    """A checked document in the form's words."""
    found = dict.fromkeys(FIELDS, "") | {"name": name, "unit": SECONDS}
    found |= {field: document[field] for field in PLAIN if document.get(field)}
    found |= {field: _lines(document[field]) for field in SEVERAL if document.get(field)}
    kind = document.get("kind")
    if isinstance(kind, str):
        native = ("send", "receive", "record_state", "marker_send", "marker_receive", "crash")
        kind = {"path": kind, "rules": [{"value": one, "kind": one} for one in native]}
    if kind:
        found["kind"] = kind["path"]
        found["rules"] = "\n".join(f"{rule['value']} = {rule['kind']}" for rule in kind["rules"])
        found["otherwise"] = kind.get("otherwise", "internal")
    peer = document.get("peer") or {}
    ends = peer if isinstance(peer, dict) else {"send": peer, "receive": peer}
    found |= {"peer_sent": ends.get("send") or "", "peer_received": ends.get("receive") or ""}
    at = document.get("at")
    if at:
        own = at if isinstance(at, dict) else {"path": at}
        found |= {"at": own["path"], "unit": own.get("unit", SECONDS)}
    return found | {"fifo": "on" if document.get("fifo") else ""}


def field_of(path: str | None) -> str:
    """Which field of the form a place in the document is; empty for none."""
    if path is None:
        return ""
    if path in _PLACES:
        return _PLACES[path]
    if path.startswith("kind.rules"):
        return "rules"
    if path == "kind.otherwise":
        return "otherwise"
    first = path.partition(".")[0]
    if first == "peer":
        return "peer_sent"
    return first if first in FIELDS else ""


def _parts(text: str, field: str) -> str | dict[str, str]:
    return dict(_pairs(text, field)) if "=" in text or "\n" in text else text


def _lines(parts: str | Mapping[str, str]) -> str:
    if isinstance(parts, str):
        return parts
    return "\n".join(f"{name} = {path}" for name, path in parts.items())


def _pairs(text: str, field: str) -> list[tuple[str, str]]:
    """Lines ``NAME = WHAT``, the last = counts."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        name, is_pair, what = line.rpartition("=")
        if not is_pair or not name.strip() or not what.strip():
            raise Invalid(f"Line {number}: write NAME = WHAT, not “{line.strip()}”.", field=field)
        found.append((name.strip(), what.strip()))
    return found
