"""The places that take text: how a payload gets there, and the pages that then show it.

A new kind of text adds a function to ``PLACES``. It plants payloads in a running stack, and returns
the addresses of the pages on which they stand, and forms that a page refuses and shows again.
"""

import hashlib
import io
import json
import struct
import unicodedata
import uuid
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from snapshots.reviews.bundles import documents
from tests.hostile.payloads import ALL, ATTRIBUTE, HANDLER, PAYLOADS, SCRIPT, SVG
from tests.webapp.over_http import Api

FIRST_OF_EACH = [payloads[0] for payloads in PAYLOADS.values()]
EVERYTHING = "\n".join(ALL)[:3000]
PRINTABLE = [
    payload for payload in ALL if not any(unicodedata.category(c) == "Cc" for c in payload)
]
LONGEST_NAME = 200
METADATA_NAMES = ("Source: orders-numbers", "orders-source", "rules-source", "slow-sink")
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


@dataclass(frozen=True)
class Form:
    """A form that a browser sends; the page that answers shows what was sent.

    Attributes:
        address: where it is sent.
        fields: its fields.
        files: name and content of each file of the field ``file``.
    """

    address: str
    fields: dict[str, str]
    files: tuple[tuple[str, str], ...] = ()


Pages = list[str | Form]


def recording(api: Api, shared_data: Path) -> Pages:
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


def topologies(api: Api, shared_data: Path) -> Pages:
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


def mappings(api: Api, shared_data: Path) -> Pages:
    """Plant payloads in the name, the paths and the rules of a mapping."""
    rules = [{"value": payload, "kind": "internal"} for payload in ALL[:100]]
    document = {"process": "a", "kind": {"path": "b", "rules": rules, "otherwise": "internal"}}
    made = api.post("/mappings", {"name": FIRST_OF_EACH[1], "document": document})
    assert made.status == 201, made.body
    here = f"/mappings/{made.body['id']}"
    return ["/mappings", here, f"{here}/delete"]


def engine(api: Api, shared_data: Path) -> Pages:
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
    """Return a file; in ``_metadata`` and in answers of the REST API the names are payloads."""
    content = path.read_bytes()
    if path.name == "_metadata":
        for name, payload in zip(METADATA_NAMES, FIRST_OF_EACH, strict=False):
            content = content.replace(_java(name), _java(payload))
    if path.suffix == ".json":
        for name, payload in zip(FLINK_NAMES, FIRST_OF_EACH, strict=False):
            content = content.replace(json.dumps(name).encode(), json.dumps(payload).encode())
    return content


def _java(text: str) -> bytes:
    """Return a text as Java's ``writeUTF`` writes it."""
    return struct.pack(">H", len(text.encode())) + text.encode()


def people(api: Api, shared_data: Path) -> Pages:
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


def queries(api: Api, shared_data: Path) -> Pages:
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


def links(api: Api, shared_data: Path) -> Pages:
    """Plant payloads in the names of short and public links, and in what the short ones keep."""
    log = log_of(["A", "B"])
    here = f"/recordings/{api.ingested(log, 'linked.jsonl')}"
    pages: Pages = [f"{here}/sharing"]
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


def rows(api: Api, shared_data: Path) -> Pages:
    """Plant rows that only workers, other people and other servers write."""
    printed = api.stack.manage(
        "shell", "--verbosity", "0", "-c", "from tests.hostile import rows; rows.plant()"
    )
    return json.loads(printed.splitlines()[-1])


def notes(api: Api, shared_data: Path) -> Pages:
    """Plant payloads in notes that are written here, and in notes that come with a bundle."""
    here = f"/recordings/{api.ingested(log_of(FIRST_OF_EACH), 'noted.jsonl')}"
    for payload in FIRST_OF_EACH:
        body = {"text": payload, "kind": "question", "place": _event(payload)}
        made = api.post(f"{here}/entries", body)
        assert made.status == 201, made.body
        answered = api.post(f"/entries/{made.body['id']}/answers", {"text": payload})
        assert answered.status == 201, answered.body
    there = _imported(api, here)
    pages = [f"{there}/notes?page={page}" for page in range(1, 2 + len(ALL) // 50)]
    return [
        f"{here}/notes",
        f"{there}?t=10",
        *pages,
        Form(f"{here}/notes", {"text": "a", "place": EVERYTHING, "kind": "note"}),
        Form(f"{here}/notes", {"text": EVERYTHING, "kind": EVERYTHING, "place": "event:C:1"}),
        f"{there}/notes?{urlencode({'kind': EVERYTHING})}",
    ]


def reviews(api: Api, shared_data: Path) -> Pages:
    """Plant payloads in the versions of a note, and in what is searched on the page of a review."""
    number = api.ingested(log_of(FIRST_OF_EACH), "reviewed.jsonl")
    review = api.post("/reviews", {"title": SVG[0]}).body["id"]
    pages = [
        f"/reviews/{review}?{urlencode({name: payload})}"
        for name in ("exhibit", "person")
        for payload in (*FIRST_OF_EACH, EVERYTHING)
    ]
    for payload in FIRST_OF_EACH:
        note = api.post(f"/recordings/{number}/entries", {"text": payload}).body["id"]
        for text in (f"{payload} {SVG[0]}", f"{SCRIPT[0]} {payload}"):
            changed = api.call(
                "PATCH",
                f"/entries/{note}",
                json.dumps({"text": text}).encode(),
                **{"Content-Type": "application/json"},
            )
            assert changed.status == 200, changed.body
        pages.append(f"/entries/{note}/history")
    return pages


def _imported(api: Api, here: str) -> str:
    """Import the recording with a note of each payload, for somebody else; return its page."""
    content = api.raw(f"{here}/with-notes")
    with zipfile.ZipFile(io.BytesIO(content)) as package:
        parts = {name: package.read(name) for name in package.namelist()}
    pattern = json.loads(parts[documents.NOTES])["entries"][0]
    entries = [_note(pattern, number, payload) for number, payload in enumerate(ALL, 1)]
    parts[documents.NOTES] = json.dumps({"entries": entries}).encode()
    manifest = json.loads(parts[documents.MANIFEST])
    manifest["recording"].update(name="".join(FIRST_OF_EACH)[:LONGEST_NAME], source_name=SVG[0])
    parts[documents.UPLOAD] += b"\n"  # else it would be the recording that is here already
    for part in manifest["parts"]:
        content = parts[part["name"]]
        part.update(bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
    parts[documents.MANIFEST] = json.dumps(manifest).encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as package:
        for name, content in parts.items():
            package.writestr(name, content)
    return f"/recordings/{api.ingested(packed.getvalue(), 'bundle.zip')}"


def _event(process: str) -> str:
    return f"event:{quote(process, safe='')}:0"


def _note(pattern: dict[str, Any], number: int, payload: str) -> dict[str, Any]:
    """Return a note whose texts are a payload; half of them point at a place that is there."""
    by = payload[:LONGEST_NAME]
    version = {**pattern["versions"][0], "text": payload, "by": by}
    answer = {**pattern["answers"][0], "uid": str(uuid.uuid4()), "author": by}
    return {
        **pattern,
        "uid": str(uuid.uuid4()),
        "number": number,
        "author": by,
        "place": payload if number % 2 else _event(FIRST_OF_EACH[number % len(FIRST_OF_EACH)]),
        "sentence": payload,
        "resolved_by": by,
        "versions": [version],
        "answers": [{**answer, "versions": [version]}],
    }


def exported(api: Api, folder: Path) -> list[Path]:
    """Plant payloads in notes and in a review; return the files that these are exported as."""
    names = [name for name in dict.fromkeys(PRINTABLE) if len(name) <= LONGEST_NAME][:60]
    number = api.ingested(log_of(names), "exported.jsonl")
    texts = [*FIRST_OF_EACH, *("\n\n".join(payloads) for payloads in PAYLOADS.values())]
    for name, text in zip(names, texts, strict=False):
        body = {"text": text, "kind": "question", "place": _event(name)}
        made = api.post(f"/recordings/{number}/entries", body)
        assert made.status == 201, made.body
    review = api.post("/reviews", {"title": SVG[0], "summary": EVERYTHING}).body["id"]
    person = {"address": "owner@localhost", "part": SCRIPT[0]}
    for part, body in (
        ("people", person),
        ("exhibits", {"recording": number}),
        ("timeline", {"text": EVERYTHING}),
        ("timeline", {"text": HANDLER[0], "is_group": True}),
        ("timeline/all", None),
    ):
        added = api.post(f"/reviews/{review}/{part}", body)
        assert added.status < 300, (part, added.body)
    addresses = {
        "notes": f"/recordings/{number}/entries/document",
        "review": f"/reviews/{review}/post-mortem",
    }
    files = [folder / f"{name}.html" for name in addresses]
    for file, address in zip(files, addresses.values(), strict=True):
        file.write_bytes(api.raw(address))
    return files


def simulation(api: Api, shared_data: Path) -> Pages:
    """Plant payloads in the parameters of simulations, and in the processes of one that runs."""
    ids = [payload for payload in FIRST_OF_EACH if payload.strip() == payload]
    channels = [
        {"id": one, "source": one, "target": other}
        for one, other in zip(ids, [*ids[1:], ids[0]], strict=True)
    ]
    processes = [{"id": name, "state": 10} for name in ids]
    document = {"name": SVG[0], "processes": processes, "channels": channels}
    number = api.post("/topologies", document).body["id"]
    parameters = ["protocol", "workload", "seed", "duration", "delay", "snapshots", "initiators"]
    hostile = dict.fromkeys(parameters, EVERYTHING)
    refused = api.post(f"/topologies/{number}/simulate", hostile)
    assert 400 <= refused.status < 500, refused.body
    accepted = api.post(f"/topologies/{number}/simulate", {"seed": 1})
    assert accepted.status == 202, accepted.body
    assert api.ended(accepted.body["job"])["state"] == "done"
    run = f"/recordings/{accepted.body['id']}"
    form = {"action": "simulate", "name": SVG[0], "document": json.dumps(document), **hostile}
    here = f"/topologies/{number}"
    return [here, run, f"{run}/rules", f"{run}/side-by-side", Form(here, form)]


def refused(api: Api, shared_data: Path) -> Pages:
    """Return forms whose texts are refused, so that a message quotes them."""
    lines = ({"kind": payload, "process": payload, "at": payload} for payload in FIRST_OF_EACH)
    files = [
        (f"{payload}.jsonl".replace("/", "∕"), f"{json.dumps(line)}\n{payload}")
        for payload, line in zip(FIRST_OF_EACH, lines, strict=True)
    ]
    single = {
        "/teams": "name",
        "/account/notifications/webhooks": "url",
        "/archive": "url",
        "/mappings/new": "name",
    }
    return [
        Form("/", {"format": ""}, tuple(files)),
        Form("/", {"format": EVERYTHING}, ((f"{SVG[0]}.jsonl", "{}"),)),
        *(Form(page, {field: EVERYTHING}) for page, field in single.items()),
    ]


PLACES: dict[str, Callable[[Api, Path], Pages]] = {
    place.__name__: place
    for place in (
        *(recording, topologies, mappings, engine, people, queries, links),
        *(rows, notes, reviews, simulation, refused),
    )
}
