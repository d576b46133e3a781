"""The places that take text: how a payload gets there, and the pages that then show it.

A new kind of text adds a function to ``PLACES``. It plants payloads in a running stack, and returns
the addresses of the pages on which they stand.
"""

import io
import json
import unicodedata
import zipfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from tests.hostile.payloads import ALL, ATTRIBUTE, HANDLER, PAYLOADS, SCRIPT, SVG
from tests.webapp.over_http import Api

FIRST_OF_EACH = [payloads[0] for payloads in PAYLOADS.values()]
EVERYTHING = "\n".join(ALL)[:3000]
PRINTABLE = [
    payload for payload in ALL if not any(unicodedata.category(c) == "Cc" for c in payload)
]
LONGEST_NAME = 200
FLINK_NAMES = ("unaligned-orders", "enrich", "apply-rules", "slow-sink", "Source: rules")


def log_of(names: list[str]) -> bytes:
    """Return a log of which each name, message, state, value, label and snapshot is a payload."""
    ring = list(zip(names, [*names[1:], names[0]], strict=True))
    header = {
        "kind": "header",
        "format": "cutline",
        "version": 1,
        "name": "".join(FIRST_OF_EACH)[:LONGEST_NAME],
        "processes": [{"id": name, "state": {name: name}} for name in names],
        "channels": [{"id": name, "source": name, "target": other} for name, other in ring],
    }
    lines: list[dict[str, Any]] = [header]
    for name, other in ring:
        message = {"channel": name, "message": name, "value": {name: name}}
        lines += [
            {"kind": "internal", "process": name, "label": name, "state": name, "at": 5},
            {"kind": "send", "process": name, "state": name, "at": 20, **message},
            {"kind": "receive", "process": other, "state": name, "at": 10, **message},
        ]
    (one, other), *_ = ring
    for snapshot in FIRST_OF_EACH:
        recorded = {"snapshot": snapshot, "at": 30}
        lines += [
            {"kind": "record_state", "process": one, "state": [snapshot], **recorded},
            {"kind": "record_state", "process": other, "state": snapshot, **recorded},
            {"kind": "record_channel", "process": other, "channel": one, "messages": [snapshot],
             **recorded},
        ]  # fmt: skip
    return b"\n".join(json.dumps(line).encode() for line in lines)


def recording(api: Api, shared_data: Path) -> list[str]:
    """Plant payloads in a log and in the name of its file; it has a snapshot of each payload."""
    names = [name for name in dict.fromkeys(ALL) if len(name) <= LONGEST_NAME]
    number = api.ingested(log_of(names), f"{SVG[0]}.jsonl".replace('"', "%22"))
    here = f"/recordings/{number}"
    pages = ["", "/answer", "/snapshots", "/defects", "/rename", "/delete"]
    return [
        *(here + page for page in pages),
        f"{here}/snapshots?{urlencode({'id': HANDLER[0]})}",
        f"{here}/states?{urlencode({'snapshot': ATTRIBUTE[0]})}",
        f"{here}/proof?{urlencode({'snapshot': SCRIPT[0]})}",
        *reflecting(here),
    ]


def reflecting(here: str) -> list[str]:
    """Return addresses of a recording whose queries are payloads."""
    return [
        f"{here}/properties?{urlencode({'expression': EVERYTHING})}",
        f"{here}/predicates?{urlencode({'expression': EVERYTHING})}",
        f"{here}/rules?{urlencode({'channel': SVG[0], 'rule': SVG[0]})}",
        f"{here}/snapshots/{quote(SVG[0], safe='')}",
    ]


def topologies(api: Api, shared_data: Path) -> list[str]:
    """Plant payloads in names of topologies, of their processes and of their channels."""
    pages = ["/topologies"]
    trimmed = dict.fromkeys(payload.strip() for payload in PRINTABLE)
    named = [name for name in trimmed if len(name) <= LONGEST_NAME]
    for number, first in enumerate(range(0, len(named), 100)):
        processes = [{"id": name, "state": name} for name in named[first : first + 100]]
        ids = [process["id"] for process in processes]
        channels = [
            {"id": f"{one}{other}"[:LONGEST_NAME], "source": one, "target": other}
            for one, other in pairwise(ids)
        ]
        name = FIRST_OF_EACH[number]
        document = {"name": name, "processes": processes, "channels": channels}
        made = api.post("/topologies", document)
        assert made.status == 201, made.body
        pages.append(f"/topologies/{made.body['id']}")
    return [*pages, f"{pages[-1]}/delete"]


def mappings(api: Api, shared_data: Path) -> list[str]:
    """Plant payloads in the name, the paths and the rules of a mapping."""
    rules = [{"value": payload, "kind": "internal"} for payload in ALL[:100]]
    document = {"process": "a", "kind": {"path": "b", "rules": rules, "otherwise": "internal"}}
    made = api.post("/mappings", {"name": FIRST_OF_EACH[1], "document": document})
    assert made.status == 201, made.body
    here = f"/mappings/{made.body['id']}"
    return ["/mappings", here, f"{here}/delete"]


def engine(api: Api, shared_data: Path) -> list[str]:
    """Plant payloads in the names of a Flink job and its operators, and of files beside them."""
    case = shared_data / "flink" / "unaligned-orders"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as package:
        for part in ("files", "rest"):
            for path in sorted((case / part).rglob("*")):
                if path.is_file():
                    package.writestr(str(path.relative_to(case)), _renamed(path))
        folder = next((case / "files").iterdir()).name
        for payload in PRINTABLE:
            safe = payload.replace("/", "∕").replace("\\", "⧵")[:120]
            package.writestr(f"files/{folder}/chk-1/{safe}", b"")
    number = api.ingested(packed.getvalue(), "flink.zip")
    here = f"/recordings/{number}"
    pages = ["", "/answer", "/contents", "/contents/1", "/contents/1/bytes", "/contents/check"]
    pages += ["/contents/1/check", "/contents/1/restore-plan?parallelism=3"]
    pages += ["/contents/1/difference?since=0", f"/contents/1?{urlencode({'channel': SVG[0]})}"]
    return [*(here + page for page in pages), "/archive"]


def _renamed(path: Path) -> bytes:
    """Return a file; in an answer of the REST API the names are payloads."""
    content = path.read_bytes()
    if path.suffix != ".json":
        return content
    for name, payload in zip(FLINK_NAMES, FIRST_OF_EACH, strict=False):
        content = content.replace(json.dumps(name).encode(), json.dumps(payload).encode())
    return content


def people(api: Api, shared_data: Path) -> list[str]:
    """Plant payloads in names of tokens, so in the audit log, and a part of them in people's."""
    api.stack.manage("shell", "--verbosity", "0", "-c", PEOPLE.format(texts=ALL, people=ALL[::5]))
    return ["/account", "/account/activity", "/operator/people", "/operator/audit", "/operator"]


PEOPLE = """
from django.contrib.auth.models import User
from django.db import transaction
from webapp.accounts import account_pages
owner = User.objects.get(username="owner@localhost")
with transaction.atomic():
    for text in {texts!r}:
        account_pages.make_token(owner, text[:100], "read", None)
    for place, text in enumerate({people!r}):
        name = f"{{text[:110]}}{{place}}"
        User.objects.create(username=name, email=name)
"""


def queries(api: Api, shared_data: Path) -> list[str]:
    """Return addresses that show a part of themselves."""
    pages = {
        "/": "q",
        "/jobs": "q",
        "/topologies": "q",
        "/mappings": "q",
        "/archive": "q",
        "/operator/people": "q",
        "/operator/audit": "person",
        "/compare": "recordings",
        "/learn/rules": "channel",
        "/learn/side-by-side": "seed",
        "/sign-in": "next",
    }
    whole = EVERYTHING
    return [
        *(f"{page}?{urlencode({name: whole})}" for page, name in pages.items()),
        f"/?{urlencode({'sort': SVG[0], 'page': SVG[0], 'status': SVG[0]})}",
        f"/nothing/{quote(SVG[0], safe='')}",
    ]


def links(api: Api, shared_data: Path) -> list[str]:
    """Plant payloads in the names of short and public links, and in what the short ones keep."""
    log = log_of(["A", "B"])
    here = f"/recordings/{api.ingested(log, 'linked.jsonl')}"
    pages = [f"{here}/sharing"]
    for payload in FIRST_OF_EACH:
        name, address = payload[:100], f"{here}/proof?{urlencode({'snapshot': payload})}"
        assert api.post("/links", {"address": address, "name": name}).status == 201
        view = {"snapshot": payload, "filters": {"channels": payload}}
        kept = api.post("/links", {"address": here, "view": view})
        assert kept.status == 201, kept.body
        pages.append(f"/v/{kept.body['key']}")
        made = api.post(f"{here}/public-links", {"name": name})
        assert made.status == 201, made.body
    return pages


PLACES: dict[str, Callable[[Api, Path], list[str]]] = {
    place.__name__: place
    for place in (recording, topologies, mappings, engine, people, queries, links)
}
