"""What an operator sees of a team, and what only its people do."""

import pytest

from snapshots.models import Recording
from snapshots.problems import Conflict
from tests.web.given import a_client, a_person, post_json, signed_in, text_of
from webapp.accounts import deleting, people
from webapp.accounts.models import AuditEntry

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def owner():
    person = a_person("owner@localhost")
    person.is_staff = True
    person.save()
    return person


def test_an_operator_sees_and_limits_what_a_team_uses(owner, ada, team):
    Recording.objects.create(owner=team.account, name="run", size=4096, upload="kept")
    client, address = signed_in(owner), f"/operator/teams/{team.pk}"
    assert f'href="{address}">payments</a>' in text_of(client.get("/operator/people"))
    assert "4.1 kB" in text_of(client.get(address))
    assert "payments are changed" in text_of(
        client.post(f"{address}/limits", {"stored_bytes": "2 GB"}, follow=True)
    )
    refused = text_of(client.post(f"{address}/limits", {"stored_bytes": "much"}), 422)
    assert 'value="much"' in refused
    api = a_client(owner)
    limited = post_json(api, f"/api{address}/limits", {"retention_days": 30}, "patch").json()
    own = {"stored_bytes": 2 * 10**9, "retention_days": 30}
    assert limited["own_limits"] == own
    usage = {"open_jobs": 0, "collectors": 0, "recordings": 1, "stored_bytes": 4096}
    item = {"id": team.pk, "name": "payments", "owners": ["ada@example.org"], "members": 1}
    listed = api.get("/api/operator/teams").json()
    assert (listed["total"], listed["items"]) == (
        1,
        [{**item, "usage": usage, "own_limits": own, "limits": limited["limits"]}],
    )
    assert api.get(f"/api{address}").json() == listed["items"][0]
    assert "of 2 GB" in text_of(signed_in(ada).get(f"/teams/{team.pk}"))
    words = [entry.subject for entry in AuditEntry.objects.filter(action="allowance-changed")]
    assert words == [team.title] * 2


def test_only_operators_see_what_all_teams_use(ada, team):
    for address in (f"/operator/teams/{team.pk}", f"/operator/teams/{team.pk}/limits"):
        assert signed_in(ada).get(address).status_code in (404, 405)
        assert a_client(ada).get(f"/api{address}").status_code in (404, 405)
    assert a_client(ada).get("/api/operator/teams").status_code == 404


def test_a_team_is_no_person_to_an_operator(owner, team):
    for path in ("", "/close", "/hand-over"):
        assert signed_in(owner).get(f"/operator/people/{team.pk}{path}").status_code == 404
    assert a_client(owner).get(f"/api/operator/people/{team.pk}").status_code == 404


def test_a_team_never_loses_its_last_owner_to_an_operator(owner, ada, team):
    grace = a_person("grace@example.org")
    people.close(ada, owner)
    with pytest.raises(Conflict, match="the only owner of payments: hand over first"):
        deleting.delete(ada, owner)
    assert people.hand_over(ada, grace, owner).moved["team"] == 1
    deleting.delete(ada, owner)
    assert [(row.person, row.role) for row in team.memberships.all()] == [(grace, "owner")]
