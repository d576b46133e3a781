"""Fill an installation of any version with everything that this version can keep."""

import base64
import os
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

from tests.hostile.seeds import seeds
from tests.stack import ROOT
from tests.webapp.upgrades.api import Api
from tests.webapp.upgrades.contents import BEGUN, HEADER, IN_PIECES, SECOND, transfer

SHARED = Path(os.environ.get("SHARED_DATA", ROOT.parent / "shared" / "data"))
LOGS = ("native", "parquet", "cos418", "shiviz", "raft-trace", "json-clocks", "jaeger", "p-trace")


def zip_of(files: dict[str, bytes]) -> bytes:
    found = BytesIO()
    with zipfile.ZipFile(found, "w", zipfile.ZIP_DEFLATED) as package:
        for name, data in files.items():
            package.writestr(name, data)
    return found.getvalue()


def uploads(api: Api) -> dict[str, int]:
    """Upload a log of each format and a checkpoint of each engine, and return the recordings."""
    contents: dict[str, tuple[str, bytes]] = {}
    for name in LOGS:
        [(path, data)] = seeds(name)[1 if name == "shiviz" else 0].files.items()
        contents[name] = (path, data)
    flink = next(each for each in seeds("flink") if each.name == "v5-unaligned-bank")
    spark = SHARED / "spark-streaming" / "global-agg-no-key.zip"
    seatunnel = SHARED / "seatunnel" / "synthetic-two-pipelines-idle-reader.zip"
    contents |= {
        "good": ("good.jsonl", transfer(name="good", messages=["m1"])),
        "lost": ("lost.jsonl", transfer(name="lost", messages=[])),
        "flink": ("flink.zip", zip_of(flink.files)),
        "spark": (spark.name, spark.read_bytes()),
        "seatunnel": (seatunnel.name, seatunnel.read_bytes()),
    }
    accepted = {key: api.upload(data, path, name=key) for key, (path, data) in contents.items()}
    return {key: answer["id"] for key, answer in accepted.items() if answer}


def jobs(api: Api, made: dict[str, Any]) -> None:
    """Ask for one job of each kind."""
    native = f"/api/recordings/{made['native']}"
    [snapshot, *_] = api.call("GET", f"{native}/snapshots")["items"]
    of_snapshot = f"{native}/snapshots/{snapshot['snapshot']}"
    api.post(f"{of_snapshot}/restore")
    api.post(f"{of_snapshot}/reordering")
    api.post(f"{native}/predicates", {"expression": "A == 9000"})
    api.post(f"{native}/bisect", {"expression": "A < 9500"})
    api.post(f"/api/recordings/{made['lost']}/smallest-part", {"snapshot": "s1"})
    upgrade = {"job": [{"uid": "count"}]}
    api.post(f"/api/recordings/{made.get('flink')}/contents/0/upgrade", upgrade)


def drawings(api: Api, made: dict[str, Any]) -> None:
    """Make a topology, a simulated run and a mapping."""
    processes = [{"id": "A"}, {"id": "B"}]
    channels = [{"id": "A->B", "source": "A", "target": "B"}, {"source": "B", "target": "A"}]
    body = {"name": "pair", "processes": processes, "channels": channels}
    if topology := api.post("/api/topologies", body):
        made["topology"] = topology["id"]
        api.post(f"/api/topologies/{topology['id']}/simulate", {"seed": 1})
    document = {"process": "host", "kind": "event"}
    api.post("/api/mappings", {"name": "spans", "document": document})


def notes(api: Api, made: dict[str, Any]) -> None:
    """Write notes with an answer, a review with a row, and what leads to views."""
    good, archived = made["good"], made.get("archived")
    entry = api.post(
        f"/api/recordings/{good}/entries", {"text": "Why **four**?", "place": "snapshot:s1"}
    )
    if entry:
        api.post(f"/api/entries/{entry['id']}/answers", {"text": "That was sent."})
        second = api.post(f"/api/recordings/{good}/entries", {"text": "Look at m1."})
        made["entries"] = [entry["id"], second["id"]]
        api.post(f"/api/archive/{archived}/entries", {"text": "It failed here."})
        api.post(f"/api/recordings/{good}/trail", {"place": "snapshot:s1"})
    if review := api.post("/api/reviews", {"title": "Orders were lost"}):
        made["review"] = review["id"]
        below = f"/api/reviews/{review['id']}"
        api.post(f"{below}/exhibits", {"recording": good})
        api.post(f"{below}/timeline", {"text": "They restarted it."})
        api.post(f"{below}/timeline/all")
    if link := api.post("/api/links", {"address": f"/recordings/{good}?t=20"}):
        made["short"] = link
    if public := api.post(f"/api/recordings/{good}/public-links", {"name": "vendor"}):
        made["public"] = public
    hook = {"url": "https://hooks.example.org/cutline", "kinds": ["job.failed"]}
    if webhook := api.post("/api/webhooks", hook):
        made["webhook"] = webhook["id"]
        api.post(f"/api/webhooks/{webhook['id']}/test")
    api.asked("PUT", "/api/notifications/mail", b'{"kinds": ["job.failed"]}', JSON)


JSON = {"Content-Type": "application/json"}


def team(api: Api, second: Api, made: dict[str, Any], join: Callable[[str], None]) -> None:
    """Make a team with the second person, which owns a recording and a simulated run."""
    if not (row := api.post("/api/teams", {"name": "On call"})):
        return
    made["team"] = row["id"]
    invitation = {"address": SECOND, "role": "editor"}
    invited = api.post(f"/api/teams/{row['id']}/invitations", invitation)
    join(invited["link"])
    api.post(f"/api/recordings/{made['lost']}/move", {"team": row["id"]})
    api.post(f"/api/topologies/{made['topology']}/move", {"team": row["id"]})
    second.post(f"/api/recordings/{made['lost']}/entries", {"text": "m1 is not in the channel."})
    if review := api.post("/api/reviews", {"title": "m1 was lost", "team": row["id"]}):
        api.post(f"/api/reviews/{review['id']}/people", {"address": SECOND})
        api.post(f"/api/reviews/{review['id']}/exhibits", {"recording": made["lost"]})


def unfinished(api: Api, made: dict[str, Any]) -> None:
    """Leave an open recording with events, and an upload of which half has come."""
    if api.knows("POST", "/api/recordings/1/events"):
        opening = {"open": True, "header": HEADER | {"name": "still open"}}
        opened = api.post("/api/recordings", opening)
        path = f"/api/recordings/{opened['id']}/events"
        api.asked("POST", path, BEGUN, {"Content-Type": "application/x-ndjson"})
        made["open"] = opened["id"]
    name = base64.b64encode(b"pieces.jsonl").decode()
    tus = {"Tus-Resumable": "1.0.0"}
    begin = {"Upload-Length": str(len(IN_PIECES)), "Upload-Metadata": f"filename {name}", **tus}
    if begun := api.asked("POST", "/api/uploads", b"", begin):
        made["upload"] = begun["location"].rpartition("/api")[2]
        half = {"Upload-Offset": "0", "Content-Type": "application/offset+octet-stream", **tus}
        api.asked("PATCH", f"/api{made['upload']}", IN_PIECES[: len(IN_PIECES) // 2], half)


def queued(api: Api, made: dict[str, Any]) -> None:
    """Ask for jobs that nobody takes: an upload, a simulated run, and one of a recording."""
    answer = api.upload(transfer(name="queued", messages=["m1"]), "queued.jsonl", name="queued")
    made["queued"] = answer["id"]
    api.post(f"/api/topologies/{made['topology']}/simulate", {"seed": 2})
    api.post(f"/api/recordings/{made['good']}/snapshots/s1/restore")
