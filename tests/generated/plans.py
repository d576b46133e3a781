"""What each role sends with its calls, may see and may change, and the numbers in the calls."""

from typing import Any

from tests.generated import changes
from tests.generated.world import SECRETS, SHOWN, World

OF_TEAM = ("viewer", "commenter", "editor", "owner")
READS_ONLY = ("stranger", "visitor", "read token of an owner", "read token of an operator",
              "session without CSRF")  # fmt: skip
WRITING = {"editor", "owner", "operator", "session"}
"""Roles that may end things of our team."""


def roles(world: World) -> dict[str, dict[str, Any]]:
    """Return each role with its headers, cookies and the words that no answer to it may hold."""
    ours, theirs, alone = SECRETS["ours"], SECRETS["theirs"], SECRETS["alone"]
    others = [theirs, alone]
    everything = [ours, *others]
    found = {
        "stranger": _role("", [*everything, SHOWN]),
        "visitor": _role("", everything, _visit(world)),
        "outsider": _role(world.tokens["outsider"], [*everything, SHOWN]),
        **{role: _role(world.tokens[role], others) for role in OF_TEAM},
        "operator": _role(world.tokens["operator"], [*everything, SHOWN]),
        "read token of an owner": _role(world.tokens["owner, read"], others),
        "read token of an operator": _role(world.tokens["operator, read"], [*everything, SHOWN]),
        "session": _role("", others, *_session(world)),
        "session without CSRF": _role("", others, _session(world)[0]),
    }
    return {name: role | {"name": name, "spares": name in WRITING} for name, role in found.items()}


def server_of(role: str) -> str:
    """Return the name of the server of a role. Roles that change nothing share one."""
    return "readers" if role in READS_ONLY else role


def _role(
    token: str,
    forbidden: list[str],
    cookies: dict[str, str] | None = None,
    headers: dict[str, str] | None = None,
) -> dict[str, Any]:
    bearer = {"Authorization": f"Bearer {token}"} if token else {}
    return {
        "headers": bearer | (headers or {}), "cookies": cookies or {}, "forbidden": forbidden,
    }  # fmt: skip


def _visit(world: World) -> dict[str, str]:
    """Return the cookies of somebody who has opened both public links."""
    from django.http import HttpResponse

    from webapp.links import public, visiting

    response = HttpResponse()
    for link in world.links.values():
        visiting.begin_visit(response, public.follow(link.rpartition("/")[2]))
    return {name: morsel.value for name, morsel in response.cookies.items()}


def _session(world: World) -> tuple[dict[str, str], dict[str, str]]:
    """Return the cookies and the CSRF header of a browser of the owner."""
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.auth.models import User

    from webapp.accounts.sessions import SessionStore

    person = User.objects.get(pk=world.ids["people"]["owner"][0])
    session = SessionStore()
    session[SESSION_KEY] = str(person.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = person.get_session_auth_hash()
    session.save()
    secret = "a" * 32
    return {"sessionid": session.session_key, "csrftoken": secret}, {"X-CSRFToken": secret}


def rights(
    world: World,
    before: changes.Rows,
    role: str,  # or the name of a server
) -> tuple[set[changes.Key], set[int]] | None:
    """Return the rows that a role may change, and to whom it may give new ones.

    None for an operator, who hands things over and closes accounts.
    """
    if role == "operator":
        return None
    if role == "readers":
        return set(), set()
    person = world.ids["people"]["owner" if role == "session" else role][0]
    owners = {person}
    if role in ("editor", "owner", "session"):
        owners.add(_account(world))
    return before.owned_by(owners), owners


def _account(world: World) -> int:
    from webapp.teams.models import Team

    return Team.objects.get(pk=world.ids["ours"]["team"][0]).account_id


def pools(world: World) -> dict[str, list[Any]]:
    """Return what may stand at a parameter or a field, by its name or by the path before it."""
    found: dict[str, list[Any]] = {}
    kinds = {
        "recordings": ("recording", "open"), "archive": ("archived",), "topologies": ("topology",),
        "mappings": ("mapping",), "reviews": ("review",), "entries": ("entry",),
        "trail": ("trail",), "teams": ("team",), "operator/teams": ("team",),
        "collectors": ("collector",), "uploads": ("upload",), "jobs": ("job",),
        "webhooks": ("webhook",), "public-links": ("public",), "links": ("short",),
        "exhibit_id": ("exhibit",), "row_id": ("row",), "invitation": ("invitation",),
        "delivery": ("delivery",),
    }  # fmt: skip
    for pool, wanted in kinds.items():
        for owner in ("ours", "ours", "ours", "theirs", "alone", "shown"):
            for kind in wanted:
                found.setdefault(pool, []).extend(world.ids[owner].get(kind, []))
    found["recordings"] += _samples()
    people = [number for numbers in world.ids["people"].values() for number in numbers]
    for name in ("operator/people", "person", "person_id"):
        found[name] = people
    words = [*SECRETS.values(), SHOWN]
    recordings = [str(number) for number in found["recordings"]]
    found |= {
        "recording": found["recordings"], "archived_job": found["archive"],
        "left": recordings, "right": recordings, "team": [*found["teams"], "mine"],
        "snapshot": ["s1", "1", "checkpoint-1"], "checkpoint": ["1", "2"], "number": [1, 2, 12],
        "before": [1, 2], "after": [1, 2], "channel": [0, 1], "index": [0, 1, 2, 3],
        "process": [f"{name}-{word}" for name in "AB" for word in words],
        "pipeline": [0, 1], "kind": ["recordings", "topologies", "mappings", "archive", "reviews",
                                     "collectors"],
        "entry": found["entries"], "role": ["viewer", "commenter", "editor", "owner"],
        "place": ["snapshot:s1", "", "moment:time:20", "checkpoint:1"],
        "seen": ["moment:time:20"], "to": ["outsider@nobody.example", "owner@ours.example"],
        "address": [f"/recordings/{recordings[0]}/proof?snapshot=s1", "viewer@ours.example",
                    f"/recordings/{recordings[5]}/states", "a@b.example"],
        "Tus-Resumable": ["1.0.0"], "Upload-Offset": ["0"], "Upload-Length": ["10"],
        "page": [f"/recordings/{number}/{rest}" for number in recordings[:8] for rest in (
            "defects", "contents/1", "states", "checkpoints", "snapshots/s1")] + ["/", "/jobs"],
    }  # fmt: skip
    return found


def _samples() -> list[int]:
    from snapshots.models import Recording

    return list(Recording.objects.filter(slug__isnull=False).values_list("pk", flat=True)[:3])


def bodies(world: World) -> dict[str, list[Any]]:
    """Return bodies that mean something, for the calls whose fields have no type."""
    recording = world.ids["ours"]["recording"][1]
    note = {"text": "a note", "kind": "note", "place": "snapshot:s1"}
    ring = {
        "name": "ring", "processes": [{"id": "A", "state": 1}, {"id": "B", "state": 2}],
        "channels": [{"source": "A", "target": "B"}],
    }  # fmt: skip
    document = {"at": "ts", "kind": "event", "peer": "to", "process": "host"}
    webhook = {"url": "https://hooks.example/x", "kinds": []}
    found: dict[str, list[Any]] = {
        "POST /api/recordings/{id}/cuts": [{"at": 20}, {"step": 2}, {"at": 20, "limit": 1}],
        "POST /api/recordings/{id}/properties": [
            {"property": "termination"}, {"expression": "size(processes) > 1"}],
        "POST /api/recordings/{id}/bisect": [{"property": "termination"}],
        "POST /api/archive/{id}/bisect": [{"expression": "checkpoint.duration > 5"}],
        "POST /api/recordings/{id}/predicates": [{"expression": "A == 1"}],
        "POST /api/topologies": [ring],
        "PUT /api/topologies/{id}": [ring],
        "POST /api/topologies/{id}/simulate": [{"workload": "token-ring", "events": 50}],
        "POST /api/recordings/{id}/entries": [note],
        "POST /api/archive/{id}/entries": [{"text": "a note", "place": "checkpoint:1"}],
        "PATCH /api/entries/{id}": [{"text": "changed"}, {"resolved": True}],
        "POST /api/entries/{id}/answers": [{"text": "an answer"}],
        "POST /api/recordings/{id}/trail": [{"place": "snapshot:s1"}],
        "POST /api/archive/{id}/trail": [{"place": "checkpoint:1"}],
        "POST /api/trail/{id}/keep": [{"text": "kept"}],
        "POST /api/reviews": [{"title": "a review"}],
        "PATCH /api/reviews/{id}": [{"title": "other"}, {"status": "closed"}],
        "POST /api/reviews/{id}/people": [{"address": "viewer@ours.example", "part": "on call"}],
        "POST /api/reviews/{id}/exhibits": [{"recording": recording}],
        "POST /api/reviews/{id}/timeline": [{"text": "a row"}, {"entry": 1}],
        "PATCH /api/reviews/{id}/timeline/{row_id}": [{"text": "changed"}],
        "POST /api/mappings": [{"name": "m", "document": document}],
        "PUT /api/mappings/{id}": [{"name": "m", "document": document}],
        "POST /api/{kind}/{id}/move": [{"team": None}, {"team": 1}],
        "POST /api/teams": [{"name": "new"}],
        "PATCH /api/teams/{id}": [{"name": "renamed"}],
        "POST /api/teams/{id}/invitations": [{"address": "x@y.example", "role": "viewer"}],
        "PATCH /api/teams/{id}/people/{person}": [{"role": "viewer"}],
        "POST /api/links": [{"address": f"/recordings/{recording}/states", "name": "l"}],
        "POST /api/recordings/{id}/public-links": [{"name": "p", "days": 3}],
        "POST /api/reviews/{id}/public-links": [{"name": "p"}],
        "PUT /api/notifications/mail": [{"kinds": []}],
        "POST /api/webhooks": [webhook],
        "PATCH /api/webhooks/{id}": [webhook, {"is_on": False}],
        "PATCH /api/operator/people/{id}": [{"is_active": True}],
        "PATCH /api/operator/people/{id}/limits": [{"open_jobs": 5}],
        "PATCH /api/operator/teams/{id}/limits": [{"open_jobs": 5}],
        "POST /api/collectors": [{"engine": "flink", "url": "http://engine:8081"}],
        "PATCH /api/collectors/{id}": [{"is_collecting": False}],
    }  # fmt: skip
    return found
