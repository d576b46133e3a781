"""Who can open a thing, and what others read who open its address."""

import pytest
from django.test import Client

from snapshots.models import Recording
from tests.web.given import a_person, signed_in, text_of
from tests.webapp.team_things.given import KINDS, MAKE, a_member
from webapp.teams.roles import Role

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def test_who_opens_a_link_without_the_right_reads_what_to_do(team):
    eve = signed_in(a_person("eve@example.org"))
    row = MAKE["recordings"](team.account)
    texts = [text_of(eve.get(f"/recordings/{pk}"), 404) for pk in (row.pk, 987654)]
    for text in texts:
        assert "Ask them to share it with you" in text
        assert "You are signed in as <strong>eve@example.org</strong>" in text
    first, second = (text.partition("<main")[2] for text in texts)
    assert first.replace(f"recording {row.pk},", "") == second.replace("recording 987654,", "")
    assert Client().get(f"/recordings/{row.pk}").headers["Location"].startswith("/sign-in?next=")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "collectors"])
def test_a_page_has_a_button_that_says_who_can_open_it(client, ada, kind):
    row = MAKE[kind](ada)
    Recording.objects.update(status="refused")
    assert f'href="/{kind}/{row.pk}/sharing"' in text_of(client.get(f"/{kind}/{row.pk}"))


def test_the_dialog_gets_the_part_without_the_frame(client, ada):
    row = MAKE["recordings"](ada)
    part = client.get(f"/recordings/{row.pk}/sharing", headers={"HX-Request": "true"})
    assert "<html" not in text_of(part)
    assert "Only you" in text_of(part)


def test_who_is_no_owner_reads_whom_to_ask_for_an_invitation(ada, team):
    grace = a_member(team, Role.EDITOR)
    row = MAKE["recordings"](team.account)
    text = text_of(signed_in(grace).get(f"/recordings/{row.pk}/sharing"))
    assert "ask an owner of the team to invite them: ada@example.org" in text
    assert "2 people" in text
