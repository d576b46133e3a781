"""Two teams and a person of neither, each with things of every kind, made over HTTP.

Every text that belongs to one of them holds a word of its own, so that a word in an answer says
whose thing it shows.
"""

import json
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import Any

from tests.stack import ROOT, Stack
from tests.webapp.over_http import form

ROLES = ("viewer", "commenter", "editor", "owner")
SECRETS = {
    "ours": "quokkaours",
    "theirs": "quokkatheirs",
    "alone": "quokkaalone",
}
SHOWN = "quokkashown"  # of the recording and the review that the public links show
PATIENCE_SECONDS = 300


@dataclass
class World:
    """What was made.

    Attributes:
        ids: the numbers of what each owner has, by its kind.
        tokens: the tokens of people by their role; a role of scope ``read`` has one, too.
        links: the addresses of the public links of our team, by what they show.
    """

    ids: dict[str, dict[str, list[Any]]] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)


class Caller:
    """Calls the API with a token, and takes no refusal."""

    def __init__(self, url: str, token: str) -> None:
        self._url, self._token = url, token

    def __call__(self, method: str, path: str, body: Any = None, kind: str = "", **headers) -> Any:
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._url}/api{path}", content, method=method)
        request.add_header("Authorization", f"Bearer {self._token}")
        if content is not None:
            request.add_header("Content-Type", kind or "application/json")
        for name, value in headers.items():
            request.add_header(name.replace("_", "-"), value)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                raw = answer.read()
                return json.loads(raw) if raw else answer.headers
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.code} {error.read()!r}") from None

    def upload(self, content: bytes, filename: str, **fields: str) -> dict[str, Any]:
        body = form("qqq", content, filename, fields)
        answer = self("POST", "/recordings", body, "multipart/form-data; boundary=qqq")
        self.wait(answer["job"])
        return answer

    def wait(self, job: int) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (found := self("GET", f"/jobs/{job}"))["state"] in ("queued", "running"):
            assert time.monotonic() < deadline, found
            time.sleep(0.3)
        assert found["state"] == "done", found


def a_log(word: str) -> bytes:
    """Return a short log with two snapshots, in which every name and state holds the word."""
    a, b, channel = f"A-{word}", f"B-{word}", f"c-{word}"
    lines: list[dict[str, Any]] = [
        {
            "kind": "header", "format": "cutline", "version": 1, "name": f"log {word}",
            "time_unit": "us",
            "processes": [{"id": a, "state": 10}, {"id": b, "state": 0}],
            "channels": [{"id": channel, "source": a, "target": b}],
        },
        {"kind": "send", "process": a, "channel": channel, "message": "m1", "value": 4,
         "state": 6, "at": 10},
        {"kind": "record_state", "process": a, "snapshot": "s1", "state": 6, "at": 20},
        {"kind": "record_state", "process": b, "snapshot": "s1", "state": 0, "at": 25},
        {"kind": "receive", "process": b, "channel": channel, "message": "m1", "value": 4,
         "state": 4, "at": 30},
        {"kind": "record_channel", "process": b, "snapshot": "s1", "channel": channel,
         "messages": [], "at": 40},
    ]  # fmt: skip
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def make(stack: Stack) -> World:
    """Make people, teams and things. A worker must run."""
    from tests.generated import rows

    world = World()
    teams = rows.people(world)
    for owner, team, by in (
        ("ours", teams["ours"], "owner"),
        ("theirs", teams["theirs"], "their owner"),
        ("alone", None, "alone"),
    ):
        caller = Caller(stack.url, world.tokens[by])
        world.ids[owner] = Things(caller, SECRETS[owner], team).ids
    rows.add(world, teams)
    caller = Caller(stack.url, world.tokens["owner"])
    share(world, caller, teams["ours"])
    return world


def share(world: World, caller: Caller, team: int) -> None:
    """Make the two public links, to things that hold nothing else of the team."""
    shown = caller.upload(a_log(SHOWN), f"{SHOWN}.jsonl", team=str(team))["id"]
    review = caller("POST", "/reviews", {"title": SHOWN, "team": team})["id"]
    note = {"text": f"note {SECRETS['ours']}", "place": "snapshot:s1"}
    caller("POST", f"/recordings/{shown}/entries", note)
    for kind, number in (("recordings", shown), ("reviews", review)):
        made = caller("POST", f"/{kind}/{number}/public-links", {"name": SECRETS["ours"]})
        world.links[kind] = made["link"]
        world.ids["ours"].setdefault("public", []).append(made["public_link"]["id"])
    world.ids["shown"] = {"recording": [shown], "review": [review]}


class Things:
    """Makes one thing of each kind, of which ``ids`` has the numbers."""

    def __init__(self, caller: Caller, word: str, team: int | None) -> None:
        self.caller, self.word, self.team = caller, word, team
        self.query = f"?team={team}" if team else ""
        self.of_team = {"team": str(team)} if team else {}
        self.ids: dict[str, list[Any]] = {}
        self.topologies()
        self.recordings()
        self.archive()
        self.reviews()
        self.others()

    def keep(self, kind: str, number: Any) -> Any:
        self.ids.setdefault(kind, []).append(number)
        return number

    def topologies(self) -> None:
        word, call = self.word, self.caller
        ring = {
            "name": f"ring {word}",
            "processes": [{"id": f"{name}-{word}", "state": {"tokens": 3}} for name in "ABC"],
            "channels": [
                {"source": f"{a}-{word}", "target": f"{b}-{word}"} for a, b in ("AB", "BC", "CA")
            ],
        }
        number = self.keep("topology", call("POST", f"/topologies{self.query}", ring)["id"])
        run = {"workload": "token-ring", "seed": 5, "events": 200, "name": f"run {word}"}
        made = call("POST", f"/topologies/{number}/simulate{self.query}", run)
        call.wait(made["job"])
        self.keep("recording", made["id"])
        self.keep("job", made["job"])
        document = {"at": "ts", "kind": "event", "peer": "to", "process": f"host-{word}"}
        mapping = {"name": f"mapping {word}", "document": document}
        self.keep("mapping", call("POST", f"/mappings{self.query}", mapping)["id"])

    def recordings(self) -> None:
        word, call = self.word, self.caller
        made = call.upload(a_log(word), f"{word}.jsonl", **self.of_team)
        self.keep("recording", made["id"])
        self.keep("job", made["job"])
        savepoint = (ROOT / "tests/data/pyflink/process.zip").read_bytes()
        made = call.upload(savepoint, f"{word}.zip", name=f"savepoint {word}", **self.of_team)
        self.keep("recording", made["id"])
        self.keep("job", made["job"])
        header = json.loads(a_log(word).splitlines()[0])
        opened = call("POST", "/recordings", {"open": True, "header": header, "team": self.team})
        number = self.keep("open", opened["id"])
        event = {"kind": "send", "process": f"A-{word}", "index": 0, "channel": f"c-{word}",
                 "message": "m1", "value": 4, "state": 6, "at": 10}  # fmt: skip
        lines = json.dumps(event).encode() + b"\n"
        call("POST", f"/recordings/{number}/events", lines, "application/x-ndjson")
        length = {"Tus_Resumable": "1.0.0", "Upload_Length": "1000"}
        answer = call("POST", "/uploads", b"", "application/offset+octet-stream", **length)
        self.keep("upload", int(answer["Location"].rpartition("/")[2]))

    def archive(self) -> None:
        """Tell of a job of an engine, as an upload of its checkpoint did."""
        found = self.caller("GET", f"/archive{self.query}")
        for item in found["items"]:
            self.keep("archived", item["id"])

    def reviews(self) -> None:
        word, call = self.word, self.caller
        review = self.keep("review", call("POST", "/reviews", {
            "title": f"review {word}", "summary": f"summary {word}", "team": self.team,
        })["id"])  # fmt: skip
        recording = self.ids["recording"][1]
        note = {"text": f"note {word}", "place": "snapshot:s1"}
        entry = self.keep("entry", call("POST", f"/recordings/{recording}/entries", note)["id"])
        answer = call("POST", f"/entries/{entry}/answers", {"text": f"answer {word}"})
        self.keep("entry", answer["id"])
        exhibit = call("POST", f"/reviews/{review}/exhibits", {"recording": recording})
        self.keep("exhibit", exhibit["id"])
        row = call("POST", f"/reviews/{review}/timeline", {"text": f"row {word}", "kind": "note"})
        self.keep("row", row["id"])
        call("POST", f"/reviews/{review}/timeline", {"entry": entry})
        stop = call("POST", f"/recordings/{recording}/trail", {"place": "snapshot:s1"})
        self.keep("trail", stop["id"])

    def others(self) -> None:
        word, call = self.word, self.caller
        recording = self.ids["recording"][1]
        page = f"/recordings/{recording}/proof?snapshot=s1"
        link = call("POST", "/links", {"address": page, "name": f"link {word}"})
        self.keep("short", link["key"])
        kinds = [kind["name"] for kind in call("GET", "/notifications/kinds")["items"]]
        webhook = {"url": f"https://{word}.example/hook", "kinds": kinds}
        self.keep("webhook", call("POST", f"/webhooks{self.query}", webhook)["id"])
        restore = call("POST", f"/recordings/{recording}/snapshots/s1/restore")
        call.wait(restore["job"])
        self.keep("job", restore["job"])
