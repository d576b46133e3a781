"""A file that is uploaded twice is recognised by its hash, by whoever may see the first one."""

import hashlib

import pytest
from django.test import Client

from snapshots import access
from snapshots.domain.simulators.samples import two_banks
from snapshots.files import resumable
from snapshots.models import Recording
from tests.builders import simulated
from tests.web.api.test_uploads_in_pieces import LOG, begun, file_of, piece
from tests.web.given import a_client, a_person, native
from webapp.teams import services as teams
from webapp.teams.models import Membership
from webapp.teams.roles import Role

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def uploaded(api: Client, content: bytes = LOG, **fields):
    answer = api.post("/api/recordings", {"file": file_of(content), **fields})
    assert answer.status_code == 202, answer.content
    return answer.json()


def same(answer) -> list[int]:
    return [each["id"] for each in answer["same_file"]]


def test_the_same_file_again_names_the_recordings_that_are_there(api):
    first = uploaded(api, name="friday")
    second, other, third = uploaded(api), uploaded(api, native(simulated())), uploaded(api)
    assert (same(first), same(second), same(other)) == ([], [first["id"]], [])
    assert same(third) == [second["id"], first["id"]]
    row = Recording.objects.get(pk=first["id"])
    assert row.sha256 == hashlib.sha256(native(two_banks())).hexdigest()
    assert second["same_file"][0] == {
        "id": row.pk,
        "name": "friday",
        "created_at": row.created_at.isoformat().replace("+00:00", "Z"),
    }


def test_a_file_of_somebody_else_is_not_given_away(api):
    uploaded(api)
    assert same(uploaded(a_client(a_person("bob@example.org")))) == []


def test_a_file_of_a_team_is_named_to_who_may_see_it(api, ada):
    bob = a_person("bob@example.org")
    team = teams.create_team(bob, "one team")
    first = uploaded(a_client(bob), team=team.pk)
    assert same(uploaded(api)) == []
    Membership.objects.create(team=team, person=ada, role=Role.VIEWER)
    assert first["id"] in same(uploaded(api))


def test_a_hash_that_is_not_known_is_the_same_as_no_other(api, ada):
    old = [Recording.objects.create(owner=ada, name="old", size=len(LOG)) for _ in range(2)]
    assert list(access.same_files(ada, old[0])) == []
    assert same(uploaded(api)) == []


@pytest.mark.parametrize("is_forgotten", [False, True])
def test_a_file_in_pieces_has_the_hash_of_the_file(api, is_forgotten):
    """Another process, which did not receive the first piece, reads it again."""
    first = uploaded(api)
    address = begun(api)["Location"]
    piece(api, address, 0, LOG[:500])
    piece(api, address, 500, LOG[500:900], Upload_Checksum="sha1 AAAA")
    if is_forgotten:
        resumable._hashes.clear()
    piece(api, address, 500, LOG[500:])
    accepted = api.get(address).json()["accepted"]
    assert same(accepted) == [first["id"]]


def test_a_folder_that_is_sent_twice_is_recognised(api):
    def sent() -> dict:
        files = [file_of(b"one"), file_of(b"two")]
        fields = {"file": files, "together": "true", "paths": ["job/a", "job/b"]}
        return api.post("/api/recordings", fields).json()

    first = sent()
    assert same(sent()) == [first["id"]]


def test_the_page_without_javascript_says_so_too(ada):
    client = Client()
    client.force_login(ada)
    client.post("/", {"file": file_of(LOG)})
    first = Recording.objects.get()
    shown = client.post("/", {"file": file_of(LOG)}, follow=True).content.decode()
    assert f"as recording {first.pk} “{first.name}” before." in shown
