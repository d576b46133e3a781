"""The form of a mapping: turn what was typed into a document, and a document into the form."""

from collections.abc import Mapping
from typing import Any

from django.http import QueryDict

from snapshots.problems import Invalid
from snapshots.readers.logs.mapped.mapping import SECONDS

PLAIN = ("process", "channel", "message", "label", "snapshot")
SEVERAL = ("state", "value")
FIELDS = (
    "name", *PLAIN, *SEVERAL, "kind", "rules", "otherwise", "peer_sent", "peer_received", "at",
    "unit", "fifo", "clock", "first",
)  # fmt: skip
_PLACES = {
    "peer.send": "peer_sent",
    "peer.receive": "peer_received",
    "at.unit": "unit",
    "clock.first": "first",
}


def blank() -> dict[str, str]:
    return dict.fromkeys(FIELDS, "") | {
        "rules": "send = send\nreceive = receive",
        "otherwise": "internal",
        "unit": SECONDS,
        "first": "0",
    }


def posted(form: QueryDict) -> dict[str, str]:
    return {name: form.get(name, "").replace("\r\n", "\n").strip() for name in FIELDS}


def document(typed: Mapping[str, str]) -> dict[str, Any]:
    """Return what was typed as the document of a mapping.

    Raises: Invalid for a line that is not of the form NAME = WHAT.
    """
    fields: dict[str, Any] = {name: typed[name] for name in PLAIN if typed[name]}
    fields |= {name: _parts(typed[name], name) for name in SEVERAL if typed[name]}
    if typed["kind"]:
        rules = [{"value": value, "kind": kind} for value, kind in _pairs(typed["rules"], "rules")]
        fields["kind"] = {
            "path": typed["kind"],
            "rules": rules,
            "otherwise": typed["otherwise"] or "internal",
        }
    sent, received = typed["peer_sent"], typed["peer_received"]
    if sent or received:
        ends = {"send": sent, "receive": received}
        fields["peer"] = {end: path for end, path in ends.items() if path}
    if typed["at"]:
        fields["at"] = {"path": typed["at"], "unit": typed["unit"] or SECONDS}
    if typed["clock"]:
        first = typed["first"] or "0"
        fields["clock"] = {"path": typed["clock"], "first": int(first) if first in "01" else first}
    if typed["fifo"]:
        fields["fifo"] = True
    return fields


def typed(name: str, document: Mapping[str, Any]) -> dict[str, str]:
    """Return a checked document as what the form shows."""
    fields = dict.fromkeys(FIELDS, "") | {"name": name, "unit": SECONDS, "first": "0"}
    fields |= {name: document[name] for name in PLAIN if document.get(name)}
    fields |= {name: _lines(document[name]) for name in SEVERAL if document.get(name)}
    kind = document.get("kind")
    if isinstance(kind, str):
        native = ("send", "receive", "record_state", "marker_send", "marker_receive", "crash")
        kind = {"path": kind, "rules": [{"value": name, "kind": name} for name in native]}
    if kind:
        fields["kind"] = kind["path"]
        fields["rules"] = "\n".join(f"{rule['value']} = {rule['kind']}" for rule in kind["rules"])
        fields["otherwise"] = kind.get("otherwise", "internal")
    peer = document.get("peer") or {}
    ends = peer if isinstance(peer, dict) else {"send": peer, "receive": peer}
    fields |= {"peer_sent": ends.get("send") or "", "peer_received": ends.get("receive") or ""}
    at = document.get("at")
    if at:
        own = at if isinstance(at, dict) else {"path": at}
        fields |= {"at": own["path"], "unit": own.get("unit", SECONDS)}
    clock = document.get("clock")
    if clock:
        own = clock if isinstance(clock, dict) else {"path": clock}
        fields |= {"clock": own["path"], "first": str(own.get("first", 0))}
    return fields | {"fifo": "on" if document.get("fifo") else ""}


def field_of(path: str | None) -> str:
    """Return the field of the form for a path in the document; empty if there is none."""
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
    """Split lines of the form ``NAME = WHAT`` at their last equals sign. Raises: Invalid."""
    pairs = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        name, equals, value = line.rpartition("=")
        if not equals or not name.strip() or not value.strip():
            raise Invalid(f"Line {number}: write NAME = WHAT, not “{line.strip()}”.", field=field)
        pairs.append((name.strip(), value.strip()))
    return pairs
