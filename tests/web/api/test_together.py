"""People who look at the same recording at the same time, over a real Redis."""

import asyncio
import json
from time import monotonic

import pytest
from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator

from snapshots.domain.reviewing import floor as floors
from snapshots.reviews.models import Exhibit, Review
from snapshots.web.consumers import NOT_FOUND
from snapshots.web.together import room as together
from snapshots.web.together import shared
from snapshots.web.together.guest import MOST_VIEW_BYTES
from tests.web.access_world import make_people, make_team
from tests.web.api.test_consumers import closed_with, connected
from tests.web.given import a_ready_recording
from webapp.teams import services as teams
from webapp.teams.models import Membership
from webapp.teams.roles import Role

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("data_dir", "rooms", "often"),
]

VIEW = {"axis": "time", "now": 4500, "from": 0, "to": 9000, "cut": None}
SHOWN = {"type": "view", "view": VIEW, "playing": True, "speed": 2, "revision": 7}


@pytest.fixture
def often(monkeypatch):
    monkeypatch.setattr(together, "TICK_SECONDS", 0.05)


@pytest.fixture
def people():
    return make_people()


@pytest.fixture
def team(people):
    return make_team(people, "team")


@pytest.fixture
def banks(team):
    return a_ready_recording(team.account)


async def in_room(user, recording, page: str = "") -> WebsocketCommunicator:
    return await connected(user, f"ws/recordings/{recording.pk}?page={page}")


async def next_of(socket: WebsocketCommunicator, kind: str, matches=lambda message: True) -> dict:
    """Return the next message of a type that matches, and drop those before it, such as beats."""
    async with asyncio.timeout(20):
        while True:
            message = await socket.receive_json_from(20)
            if message["type"] == kind and matches(message):
                return message


async def none_of(socket: WebsocketCommunicator, kind: str) -> bool:
    """Tell that nothing of a type comes before the answer to a question."""
    await socket.send_json_to({"type": "cut", "request": "last", "at": 0})
    while (message := await socket.receive_json_from(10))["type"] != "cut":
        if message["type"] == kind:
            return False
    return True


async def presented(socket: WebsocketCommunicator) -> None:
    await socket.send_json_to({"type": "follow", "role": "presenter"})
    await next_of(socket, "room", lambda room: room["you"]["presents"])


async def followed(socket: WebsocketCommunicator) -> None:
    await socket.send_json_to({"type": "follow", "role": "follower"})
    await next_of(socket, "room")


async def close(*sockets: WebsocketCommunicator) -> None:
    for socket in sockets:
        await socket.disconnect()


def names_of(room: dict) -> list[str]:
    return [person["name"].partition("@")[0] for person in room["people"]]


async def test_the_room_names_people_and_not_pages(people, banks):
    sockets = [await in_room(people[name], banks) for name in ("owner", "owner", "viewer")]
    for socket in sockets:
        room = await next_of(socket, "room", lambda room: room["total"] == 2)
        assert names_of(room) == ["owner", "viewer"]
    await close(*sockets[1:])
    room = await next_of(sockets[0], "room", lambda room: room["total"] == 1)
    assert names_of(room) == ["owner"]
    await close(sockets[0])


async def test_where_somebody_is_reaches_the_others(people, banks):
    owner, viewer = [await in_room(people[name], banks) for name in ("owner", "viewer")]
    await viewer.send_json_to({"type": "here", "axis": "order", "at": 12})
    room = await next_of(
        owner, "room", lambda room: any(person["at"] is not None for person in room["people"])
    )
    seen = {person["name"].partition("@")[0]: person for person in room["people"]}
    assert (seen["viewer"]["axis"], seen["viewer"]["at"]) == ("order", 12)
    assert seen["owner"]["at"] is None
    await close(owner, viewer)


async def test_a_server_process_that_crashed_leaves_nobody_in_the_room(people, banks, monkeypatch):
    monkeypatch.setattr(shared, "LOST_SECONDS", 0.3)
    monkeypatch.setattr(shared, "BEAT_SECONDS", 0.1)
    monkeypatch.setattr(together, "BEAT_SECONDS", 0.1)
    ghost = shared.Member(people["editor"].pk, "gone", "editor@x", True, banks.pk)
    await shared.SharedRoom(f"recording.{banks.pk}").beat([ghost])
    owner = await in_room(people["owner"], banks)
    await next_of(owner, "room", lambda room: room["total"] == 2)
    await next_of(owner, "room", lambda room: room["total"] == 1)
    await close(owner)


async def test_of_many_people_fifty_are_named_and_all_are_counted(people, banks):
    crowd = [shared.Member(1000 + n, "p", f"x{n}@x", False, banks.pk) for n in range(70)]
    await shared.SharedRoom(f"recording.{banks.pk}").beat(crowd)
    owner = await in_room(people["owner"], banks)
    room = await next_of(owner, "room", lambda room: room["total"] > 1)
    assert (len(room["people"]), room["total"]) == (together.MOST_PEOPLE, 71)
    await close(owner)


async def test_thirty_people_who_come_at_once_cause_few_messages(people, banks, monkeypatch):
    monkeypatch.setattr(together, "TICK_SECONDS", 30)  # only changes are read
    owner = await in_room(people["owner"], banks)
    await next_of(owner, "room")
    crowd = [await in_room(people["viewer"], banks) for _ in range(30)]
    await next_of(crowd[-1], "room")
    received = 0
    while not await owner.receive_nothing(0.1):
        received += (await owner.receive_json_from(1))["type"] == "room"
    assert received <= 3
    await close(owner, *crowd)


async def test_followers_get_the_whole_view_and_nobody_else_does(people, banks):
    presenter, follower, other = [
        await in_room(people[name], banks) for name in ("editor", "viewer", "owner")
    ]
    await presented(presenter)
    await followed(follower)
    await presenter.send_json_to(SHOWN)
    view = await next_of(follower, "view")
    assert view["view"] == VIEW
    assert (view["playing"], view["speed"], view["revision"]) == (True, 2, 7)
    assert (view["person"], view["recording"]) == (people["editor"].pk, banks.pk)
    assert await none_of(other, "view")
    assert await none_of(presenter, "view")
    await presenter.send_json_to({"type": "seek", "at": 2, "session": 1})  # its view shows it
    await presenter.send_json_to({"type": "seek", "at": 3})
    assert (await next_of(follower, "cursor"))["at"] == 3
    await close(presenter, follower, other)


async def test_who_comes_later_catches_up_with_the_age_of_the_view(people, banks):
    presenter = await in_room(people["editor"], banks)
    first = await in_room(people["owner"], banks)
    await presented(presenter)
    await followed(first)
    await presenter.send_json_to(SHOWN)
    await next_of(first, "view")
    await asyncio.sleep(0.2)
    late = await in_room(people["viewer"], banks)
    await late.send_json_to({"type": "follow", "role": "follower"})
    view = await next_of(late, "view")
    assert view["view"] == VIEW
    assert view["age"] >= 150
    await close(presenter, first, late)


@pytest.mark.parametrize("name", ["commenter", "viewer"])
async def test_whose_role_is_below_editor_moves_nobody(people, banks, name):
    follower, socket = await in_room(people["owner"], banks), await in_room(people[name], banks)
    await followed(follower)
    for message in ({"type": "follow", "role": "presenter"}, SHOWN):
        await socket.send_json_to(message)
        assert "takes an editor" in (await next_of(socket, "refused"))["detail"]
    assert await none_of(follower, "view")
    await close(follower, socket)


async def test_a_presenter_who_loses_the_role_moves_nobody(people, team, banks):
    presenter, follower = [await in_room(people[name], banks) for name in ("editor", "owner")]
    await presented(presenter)
    await followed(follower)
    row = await Membership.objects.aget(team=team, person=people["editor"])
    await database_sync_to_async(teams.change_role)(row, people["owner"], Role.COMMENTER)
    room = await next_of(presenter, "room", lambda room: not room["you"]["may_present"])
    assert not room["you"]["presents"]
    await presenter.send_json_to(SHOWN)
    await next_of(presenter, "refused")
    assert await none_of(follower, "view")
    await close(presenter, follower)


async def test_a_request_is_shown_to_the_presenter_and_accepted(people, banks):
    presenter, other = [await in_room(people[name], banks) for name in ("editor", "owner")]
    await presented(presenter)
    await other.send_json_to({"type": "follow", "role": "presenter"})
    room = await next_of(presenter, "room", lambda room: room["requests"])
    assert room["requests"][0]["person"] == people["owner"].pk
    assert room["you"]["presents"]
    await presenter.send_json_to({"type": "offer", "person": people["owner"].pk})
    room = await next_of(other, "room", lambda room: room["you"]["presents"])
    assert room["presenter"]["person"] == people["owner"].pk
    await next_of(presenter, "room", lambda room: not room["you"]["presents"])
    await presenter.send_json_to(SHOWN)
    assert "you do not present" in (await next_of(presenter, "refused"))["detail"]
    await close(presenter, other)


async def test_an_offer_is_shown_to_its_person_and_taken(people, banks):
    presenter, other = [await in_room(people[name], banks) for name in ("editor", "owner")]
    await presented(presenter)
    await presenter.send_json_to({"type": "offer", "person": people["owner"].pk})
    await next_of(other, "room", lambda room: room["you"]["is_offered"])
    await presented(other)
    await close(presenter, other)


async def test_a_presenter_who_comes_back_still_presents(people, banks):
    presenter = await in_room(people["editor"], banks, "mine")
    other = await in_room(people["owner"], banks)
    await presented(presenter)
    await close(presenter)
    room = await next_of(other, "room", lambda room: room["total"] == 1 and room["presenter"])
    assert room["presenter"] == {"person": people["editor"].pk, "name": None, "is_here": False}
    again = await in_room(people["editor"], banks, "mine")
    await next_of(again, "room", lambda room: room["you"]["presents"])
    room = await next_of(other, "room", lambda room: room["total"] == 2)
    assert room["presenter"]["is_here"]
    await close(again, other)


async def test_the_page_of_somebody_else_does_not_make_a_presenter(people, banks):
    presenter = await in_room(people["editor"], banks, "mine")
    await presented(presenter)
    await close(presenter)
    thief = await in_room(people["owner"], banks, "mine")
    room = await next_of(thief, "room")
    assert not room["you"]["presents"]
    await close(thief)


async def test_the_floor_of_who_does_not_come_back_is_free(people, banks, monkeypatch):
    monkeypatch.setattr(floors, "AWAY_SECONDS", 0.2)
    presenter, other = [await in_room(people[name], banks) for name in ("editor", "owner")]
    await presented(presenter)
    await close(presenter)
    await next_of(other, "room", lambda room: room["presenter"] and room["total"] == 2)
    await next_of(other, "room", lambda room: room["presenter"] is None)
    await presented(other)
    await close(other)


async def test_a_pointer_reaches_everybody_else(people, banks):
    names = ("commenter", "viewer", "owner")
    pointing, *others = [await in_room(people[name], banks) for name in names]
    await pointing.send_json_to({"type": "point", "axis": "time", "at": 5, "process": "A"})
    for socket in others:
        pointer = await next_of(socket, "point")
        assert (pointer["axis"], pointer["at"], pointer["process"]) == ("time", 5, "A")
        assert pointer["person"] == people["commenter"].pk
    assert await none_of(pointing, "point")
    await others[0].send_json_to({"type": "point", "channel": "A->B"})
    assert "takes a commenter" in (await next_of(others[0], "refused"))["detail"]
    assert await none_of(others[1], "point")
    await close(pointing, *others)


async def test_a_view_that_is_too_large_is_refused(people, banks):
    presenter = await in_room(people["editor"], banks)
    await presented(presenter)
    await presenter.send_json_to(SHOWN | {"view": {"lanes": "x" * MOST_VIEW_BYTES}})
    assert "at most 65,536 bytes" in (await next_of(presenter, "refused"))["detail"]
    await close(presenter)


async def test_a_newer_view_replaces_those_that_wait(people, banks):
    presenter, follower = [await in_room(people[name], banks) for name in ("editor", "owner")]
    await presented(presenter)
    await followed(follower)
    for revision in range(100):
        await presenter.send_json_to(SHOWN | {"revision": revision})
    received = [(await next_of(follower, "view"))["revision"]]
    while received[-1] != 99:
        received.append((await next_of(follower, "view"))["revision"])
    assert received == sorted(received)
    assert len(received) < 50
    await close(presenter, follower)


@pytest.mark.parametrize("kind", ["view", "point"])
async def test_no_more_than_twenty_views_and_pointers_a_second_are_sent_on(people, banks, kind):
    presenter, follower = [await in_room(people[name], banks) for name in ("editor", "owner")]
    await presented(presenter)
    await followed(follower)
    began, sent = monotonic(), 0
    while monotonic() - began < 1:
        sent += 1
        shown = {"view": SHOWN | {"revision": sent}, "point": {"type": "point", "at": sent}}
        await presenter.send_json_to(shown[kind])
        await asyncio.sleep(0.005)
    last = {"view": "revision", "point": "at"}[kind]
    received = {number := (await next_of(follower, kind))[last]}
    while number != sent:  # the first view may come twice, since the page begins to follow
        received.add(number := (await next_of(follower, kind))[last])
    allowed = (monotonic() - began) * 20 + 1
    assert 1 < len(received) <= allowed < sent, received
    await close(presenter, follower)


async def test_a_member_who_is_removed_while_following_gets_nothing_more(people, team, banks):
    presenter, follower = [await in_room(people[name], banks) for name in ("editor", "viewer")]
    await presented(presenter)
    await followed(follower)
    await presenter.send_json_to(SHOWN)
    await next_of(follower, "view")
    row = await Membership.objects.aget(team=team, person=people["viewer"])
    await database_sync_to_async(teams.remove)(row, people["owner"])
    await presenter.send_json_to(SHOWN | {"revision": 8})
    async with asyncio.timeout(10):
        while (output := await follower.receive_output(10))["type"] != "websocket.close":
            message = json.loads(output["text"])
            assert message.get("revision") != 8, "the view of after the removal"
    assert output["code"] == NOT_FOUND
    await close(follower)
    room = await next_of(presenter, "room", lambda room: room["total"] == 1)
    assert names_of(room) == ["editor"]
    again = await in_room(people["viewer"], banks)
    assert await closed_with(again) == NOT_FOUND
    await close(presenter, again)


async def test_a_room_expires_when_nobody_is_left_to_repeat_it(people, banks, monkeypatch):
    """A presenter's process crashes: nothing removes the page, the floor and the last view."""
    monkeypatch.setattr(shared, "LOST_SECONDS", 2)
    monkeypatch.setattr(shared, "KEPT_SECONDS", 2)
    room = shared.SharedRoom(f"recording.{banks.pk}")
    ghost = shared.Member(people["editor"].pk, "gone", "editor@x", True, banks.pk)
    await room.beat([ghost])
    await room.change_floor(lambda floor, here, now: floors.take(floor, ghost.seat, here, now))
    await room.keep_view({"view": VIEW})
    assert (await room.beat([])).floor.presenter == ghost.seat
    assert (await room.last_view())["view"] == VIEW
    keys = (room.pages_key, room.floor_key, room.view_key)
    async with asyncio.timeout(20):
        while await shared._redis().exists(*keys):
            await asyncio.sleep(0.1)


async def test_the_floor_and_the_view_of_a_room_that_people_left_are_kept_for_an_hour(
    people, banks
):
    presenter = await in_room(people["editor"], banks)
    await presented(presenter)
    await presenter.send_json_to(SHOWN)
    room = shared.SharedRoom(f"recording.{banks.pk}")
    async with asyncio.timeout(10):
        while await room.last_view() is None:
            await asyncio.sleep(0.05)
    assert 0 < await shared._redis().ttl(room.pages_key) <= 16
    await close(presenter)
    assert not await shared._redis().exists(room.pages_key)
    for key in (room.floor_key, room.view_key):
        assert 3500 < await shared._redis().ttl(key) <= 3600


async def test_nobody_is_present_in_a_sample(people):
    sample = await database_sync_to_async(a_ready_recording)(None)
    one, two = [await in_room(people[name], sample) for name in ("owner", "outsider")]
    for message in (
        {"type": "follow", "role": "presenter"},
        {"type": "follow", "role": "follower"},
        {"type": "here", "axis": "time", "at": 1},
        {"type": "point", "axis": "time", "at": 1},
        SHOWN,
    ):
        await one.send_json_to(message)
        assert "strangers share" in (await next_of(one, "refused"))["detail"]
    assert await none_of(two, "room")
    await close(one, two)


async def in_review(user, recording, review: Review) -> WebsocketCommunicator:
    return await connected(user, f"ws/recordings/{recording.pk}?review={review.pk}")


async def a_review_of(team, *recordings) -> Review:
    review = await Review.objects.acreate(owner=team.account, title="x")
    for recording in recordings:
        await Exhibit.objects.acreate(review=review, recording=recording, name=recording.name)
    return review


async def test_a_recording_that_a_review_does_not_show_is_not_in_its_room(people, team, banks):
    other = await database_sync_to_async(a_ready_recording)(team.account)
    review = await a_review_of(team, banks)
    inside = await in_review(people["editor"], banks, review)
    outside = await in_review(people["viewer"], other, review)
    assert "does not show this recording" in (await next_of(outside, "refused"))["detail"]
    assert (await next_of(inside, "room"))["total"] == 1
    assert await none_of(inside, "refused")
    await close(inside, outside)


async def test_people_of_a_review_are_together_in_different_recordings(people, team, banks):
    other = await database_sync_to_async(a_ready_recording)(team.account)
    review = await a_review_of(team, banks, other)
    presenter = await in_review(people["editor"], banks, review)
    follower = await in_review(people["viewer"], other, review)
    alone = await in_room(people["owner"], banks)
    await presented(presenter)
    await followed(follower)
    await presenter.send_json_to(SHOWN)
    assert (await next_of(follower, "view"))["recording"] == banks.pk
    assert (await next_of(alone, "room"))["total"] == 1
    await close(presenter, follower, alone)


async def test_a_review_of_others_opens_no_room(people, banks):
    review = await Review.objects.acreate(owner=people["outsider"], title="x")
    stranger = await in_review(people["owner"], banks, review)
    beside = await in_room(people["editor"], banks)
    room = await next_of(stranger, "room", lambda room: room["total"] == 2)
    assert names_of(room) == ["editor", "owner"]
    await close(stranger, beside)


async def test_without_redis_a_recording_is_read_alone(people, banks, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    socket = await in_room(people["editor"], banks)
    await socket.send_json_to({"type": "follow", "role": "presenter"})
    assert "cannot reach Redis" in (await next_of(socket, "refused"))["detail"]
    assert await none_of(socket, "room")
    await close(socket)
