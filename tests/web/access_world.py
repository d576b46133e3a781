"""A team with people of each role and a thing of each kind, for the table of who may do what.

What only the team may see has WORD in its name, so that a page or an answer that gives it away is
noticed.
"""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path

import orjson
from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from snapshots.archive import polls
from snapshots.domain.front.model import Poll, PolledVertex
from snapshots.domain.simulators.flink.samples import counted_twice
from snapshots.domain.simulators.samples import two_banks
from snapshots.domain.simulators.script import Log
from snapshots.files import uploads
from snapshots.models import Collector, EngineJob, Mapping, Recording, Topology
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.readers.logs.headers import header_text
from snapshots.reviews import entries, incidents, timeline, trail
from snapshots.reviews.models import Entry, Review
from snapshots.services import opened, resuming
from snapshots.services.jobs import request_restore
from snapshots.simulating.compared_modes import DEMONSTRATION as IN_EACH_MODE
from snapshots.simulating.reruns import DEMONSTRATION, rerun_of
from tests.builders import simulated
from tests.damage import record_late
from tests.web.access_rows import PEOPLE
from tests.web.given import a_file, a_person, a_ready_recording, native
from tests.web.stored_uploads import parts_of, stored_upload
from webapp import recorder_wheel
from webapp.accounts.services import make_sign_in_link, make_token
from webapp.links import public, short
from webapp.notices import services as notices
from webapp.teams import services as teams
from webapp.teams.models import Membership, Team

WORD = "quetzal"
VISITOR, READER = VISITORS = ("visitor", "reader")
WITHOUT_ACCOUNT = ("signed-out", *VISITORS)
MEMBERS = ("owner", "editor", "commenter", "viewer")
DEFINITION = '{"processes": [{"id": "A"}, {"id": "B"}], "channels": [["A", "B"]]}'
MAPPING = '{"process": "host", "kind": "event"}'
JOB = json.dumps(
    {
        "format": "cutline-archived-job-with-notes",
        "version": 1,
        "engine": "flink",
        "key": "a",
        "name": "",
        "state": "",
        "counts": {},
        "checkpoints": [],
        "notes": {"entries": []},
    }
).encode()
LINES = b'{"host": "A", "event": "internal"}\n'


@dataclass(frozen=True, slots=True)
class World:
    """What the requests of the table are about.

    Attributes:
        things: the number or text of each thing by the name that the table uses.
        sessions: the session key of each person who is signed in.
        tokens: the bearer token of each such person.
        visits: the name and value of the cookie of the visitor and the reader.
    """

    things: dict[str, object]
    sessions: dict[str, str]
    tokens: dict[str, str]
    visits: dict[str, tuple[str, str]]
    _clients: dict[tuple[str, bool], Client] = field(default_factory=dict)

    def client(self, person: str, *, by_token: bool) -> Client:
        """Return a client of a person, who is signed in as in a browser or sends a token."""
        key = (person, by_token)
        if key not in self._clients:
            self._clients[key] = Client(raise_request_exception=False)
        client = self._clients[key]
        client.cookies.clear()  # of the request before, which was undone
        if person in self.sessions and by_token:
            client.defaults["HTTP_AUTHORIZATION"] = f"Bearer {self.tokens[person]}"
        elif person in self.sessions:
            client.cookies[settings.SESSION_COOKIE_NAME] = self.sessions[person]
        elif person in VISITORS:
            name, value = self.visits[person]
            client.cookies[name] = value
        return client


def make_world(shared_data: Path, folder: Path) -> World:
    """Make the team, its people and its things."""
    people = make_people()
    team, spare = (make_team(people, name) for name in ("team", "spare"))
    things: dict[str, object] = {name: person.pk for name, person in people.items()}
    things["spare"] = spare.pk
    things |= _recordings(team.account, shared_data, folder) | _rows(team.account)
    things |= _notes(people, things) | _of_the_owner(people["owner"]) | _links(team, people)
    things |= _kept_views(people["owner"], things) | _upload(people["owner"], team)
    return World(
        things,
        {name: _session(person) for name, person in people.items()},
        {name: make_token(person, "test")[1] for name, person in people.items()},
        {
            VISITOR: visit_of(str(things["public_token"])),
            READER: visit_of(str(things["read_token"])),
        },
    )


def make_people() -> dict[str, User]:
    """Make everybody of PEOPLE who has an account."""
    people = {name: _person(name) for name in PEOPLE if name not in WITHOUT_ACCOUNT}
    User.objects.filter(pk=people["operator"].pk).update(is_staff=True)
    return people


def _person(name: str) -> User:
    return a_person(f"{name}@{WORD if name in MEMBERS else 'elsewhere'}.example")


def make_team(people: dict[str, User], name: str) -> Team:
    """Make a team in which each of MEMBERS has the role of their name."""
    team = teams.create_team(people["owner"], f"{WORD} {name}")
    for role in MEMBERS[1:]:
        Membership.objects.create(team=team, person=people[role], role=role)
    return team


def _session(person: User) -> str:
    client = Client()
    client.force_login(person)
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def _recordings(account: User, shared_data: Path, folder: Path) -> dict[str, object]:
    logs = {
        "banks": two_banks(),
        "late": record_late(simulated()).log,
        "simulated": rerun_of(DEMONSTRATION).log(),
        "failing": counted_twice(),
        "modes": counted_twice(),
    }
    rows = {name: a_ready_recording(account, _named(log)) for name, log in logs.items()}
    Recording.objects.filter(pk=rows["simulated"].pk).update(parameters=DEMONSTRATION)
    Recording.objects.filter(pk=rows["modes"].pk).update(parameters=IN_EACH_MODE)
    Recording.objects.filter(pk=rows["banks"].pk).update(
        upload=_kept(native(two_banks())), source_name=f"{WORD}.jsonl"
    )
    case = shared_data / "flink" / "unaligned-orders"
    rows["flink"] = stored_upload(account, FlinkReader(), parts_of(case, ["files", "rest"], folder))
    Recording.objects.filter(pk=rows["flink"].pk).update(name=f"{WORD} orders")
    archived = EngineJob.objects.get(owner=account)
    polls.keep(archived, Poll(1, at=1_000, vertices=(PolledVertex("a", f"{WORD} source", 2, 1),)))
    EngineJob.objects.update(name=f"{WORD} orders")
    job = request_restore(account, rows["late"], rows["late"].snapshots.get(snapshot="s1"))
    sample = a_ready_recording(None)
    numbers = {name: row.pk for name, row in rows.items()}
    numbers["open"] = _open(account).pk
    return numbers | {"archived": archived.pk, "job": job.pk, "sample": sample.pk}


def _open(account: User) -> Recording:
    header = orjson.loads(header_text(_named(two_banks()).header))
    return opened.open_recording(account, account, header, lambda row: None)


def _named(log: Log) -> Log:
    return Log(replace(log.header, name=f"{WORD} {log.header.name}"), log.events)


def _kept(content: bytes) -> str:
    """Keep an upload, and return the name of its file."""
    name = "0" * 32
    uploads.path_of(name).write_bytes(content)
    return name


def _upload(owner: User, team: Team) -> dict[str, object]:
    """Begin an upload in pieces, which only the person sees, although the team will get it."""
    metadata = {"filename": f"{WORD}.jsonl", "team": str(team.pk)}
    return {"upload": resuming.begin(owner, 9, metadata).pk}


def _rows(account: User) -> dict[str, object]:
    definition = {"processes": [{"id": "A"}, {"id": "B"}], "channels": [], "layout": {}}
    topology = Topology.objects.create(owner=account, name=f"{WORD} ring", definition=definition)
    document = {"process": "host", "kind": "event"}
    mapping = Mapping.objects.create(owner=account, name=f"{WORD} spans", document=document)
    collector = Collector.objects.create(owner=account, engine="flink", url=f"http://{WORD}:8081")
    return {"topology": topology.pk, "mapping": mapping.pk, "collector": collector.pk}


def _notes(people: dict[str, User], things: dict[str, object]) -> dict[str, object]:
    banks = Recording.objects.get(pk=things["banks"])
    entry = _entry(people["commenter"], banks)
    finding = _entry(people["owner"], banks)
    stop = trail.record(people["owner"], banks, "snapshot:s1")
    made = {"entry": entry.pk, "finding": finding.pk, "stop": stop.pk}
    return made | _review(people["owner"], banks, entry)


def _review(owner: User, banks: Recording, entry: Entry) -> dict[str, object]:
    assert banks.owner is not None
    review = incidents.open_review(owner, banks.owner, {"title": f"The {WORD} was lost"})
    exhibit = incidents.add_exhibit(owner, review, banks)
    row = timeline.add_entry(owner, review, entry.pk)
    participant = review.participants.get()
    return {
        "review": review.pk,
        "exhibit": exhibit.pk,
        "row": row.pk,
        "participant": participant.pk,
    }


def _entry(author: User, recording: Recording) -> Entry:
    return entries.write(author, recording, {"text": f"The {WORD} was here."})


def _of_the_owner(owner: User) -> dict[str, object]:
    """Make what belongs to one person, and not to the team."""
    url = f"https://{WORD}.example.org/hook"
    webhook = notices.create(owner, owner, url, ["job.failed"])
    delivery = notices.send_test(webhook)
    token = make_token(owner, f"{WORD} token")[0]
    _session(owner)
    return {
        "webhook": webhook.pk,
        "delivery": delivery.pk,
        "token": token.pk,
        "session": owner.sessions.first().pk,
        "recorder": recorder_wheel.NAME,
    }


def _links(team: Team, people: dict[str, User]) -> dict[str, object]:
    invitation, link = teams.invite(team, people["owner"], "guest@elsewhere.example", "viewer")
    closed = a_person("closed@elsewhere.example")
    User.objects.filter(pk=closed.pk).update(is_active=False)
    return {
        "team": team.pk,
        "invitation": invitation.pk,
        "link": link.rpartition("/")[2],
        "sign_in": make_sign_in_link(people["outsider"]).rpartition("/")[2],
        "closed": closed.pk,
    }


def _kept_views(owner: User, things: dict[str, object]) -> dict[str, object]:
    """Make a short and a public link to the workbench of a recording, and one to a review."""
    banks = Recording.objects.get(pk=things["banks"])
    review = Review.objects.get(pk=things["review"])
    link = short.make(owner, f"/recordings/{banks.pk}?t=5", None, f"{WORD} link")
    row, address = public.make(banks, owner, name=f"{WORD} vendor")
    _, read = public.make(review, owner, name=f"{WORD} vendor")
    tokens = {"public_token": address, "read_token": read}
    return {
        "short": link.key,
        "public": row.pk,
        **{name: each.rpartition("/")[2] for name, each in tokens.items()},
    }


def visit_of(token: str) -> tuple[str, str]:
    """Open a public link, and return the name and value of the cookie that this gives."""
    [cookie] = Client().get(f"/public/{token}").cookies.values()
    return cookie.key, cookie.value


def file_named(name: str) -> object:
    """Return what stands in a body for a name, such as ``@log``."""
    return {
        "@log": a_file,
        "@job": lambda: SimpleUploadedFile("job.json", JOB),
        "@lines": lambda: SimpleUploadedFile("lines.jsonl", LINES),
        "@topology": lambda: DEFINITION,
        "@draft": lambda: '{"vertices": [], "edges": []}',
        "@mapping": lambda: MAPPING,
    }[name]()
