"""Teams: who belongs to them, which role may do what, and that the last owner stays one."""

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from snapshots import access
from snapshots.models import Recording, Topology
from snapshots.problems import Conflict, Invalid, NeedsRole, NotFound, ReadOnly, TooMany
from snapshots.services import moving
from tests.web.given import a_person
from webapp.accounts import people, proving
from webapp.accounts.models import AuditEntry
from webapp.accounts.services import NotAnAddress, get_or_create_user
from webapp.teams import invitations, services
from webapp.teams.models import Invitation, Membership
from webapp.teams.roles import Role

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada():
    return a_person()


@pytest.fixture
def team(ada):
    return services.create_team(ada, "  payments \n team ")


def joined(team, address: str, role: str) -> User:
    """Return a new person who has accepted an invitation with this role."""
    owner = team.memberships.filter(role=Role.OWNER).first().person
    _, link = services.invite(team, owner, address, role)
    return services.accept(link.rpartition("/")[2], None).person


@pytest.fixture
def recording(team):
    return Recording.objects.create(owner=team.account, name="incident", size=10, upload="kept")


@pytest.mark.parametrize("role", list(Role))
def test_a_role_may_do_what_it_is_for_and_no_more(team, recording, role):
    member = joined(team, "grace@example.org", role)
    assert access.recording(member, recording.pk) == recording
    assert list(access.recordings(member).exclude(owner=None)) == [recording]
    if role in (Role.EDITOR, Role.OWNER):
        assert access.own_recording(member, recording.pk) == recording
        assert access.holder(member, team.pk) == team.account
    else:
        with pytest.raises(NeedsRole, match="payments team, where you are a (viewer|commenter)"):
            access.own_recording(member, recording.pk)
        with pytest.raises(NeedsRole, match="it takes an editor"):
            access.holder(member, team.pk)
    if role == Role.OWNER:
        assert access.led_team(member, team.pk) == team
    else:
        with pytest.raises(NeedsRole, match="it takes an owner"):
            access.led_team(member, team.pk)


def test_an_outsider_sees_nothing_of_a_team(team, recording):
    eve = a_person("eve@example.org")
    services.create_team(eve, "payments team")
    for look in (access.recording, access.own_recording):
        with pytest.raises(NotFound):
            look(eve, recording.pk)
    for look in (access.team, access.led_team, access.holder):
        with pytest.raises(NotFound):
            look(eve, team.pk)
    assert access.role(eve, team.pk) is None


def test_a_sample_is_changed_by_nobody(ada, team):
    sample = Topology.objects.create(name="ring", definition={})
    with pytest.raises(ReadOnly):
        access.own_topology(ada, sample.pk)


def test_a_removed_person_sees_nothing_more(ada, team, recording):
    grace = joined(team, "grace@example.org", "editor")
    services.remove(Membership.objects.get(person=grace), ada)
    with pytest.raises(NotFound):
        access.recording(grace, recording.pk)
    assert list(access.holders(grace)) == [grace]


def test_the_last_owner_stays_until_there_is_another(ada, team):
    membership = team.memberships.get()
    for end in (
        lambda: services.remove(membership, ada),
        lambda: services.change_role(membership, ada, "viewer"),
    ):
        with pytest.raises(Conflict, match="ada@example.org is the only owner of payments team"):
            end()
    grace = joined(team, "grace@example.org", "owner")
    services.change_role(membership, ada, "viewer")
    services.remove(membership, ada)
    assert [row.person for row in team.memberships.all()] == [grace]


def test_a_closed_account_is_no_other_owner(ada, team):
    grace = joined(team, "grace@example.org", "owner")
    people.close(grace, ada)
    with pytest.raises(Conflict, match="only owner"):
        services.remove(team.memberships.get(person=ada), ada)


def test_an_invitation_makes_an_account_once(ada, team):
    _, link = services.invite(team, ada, " Grace@Example.org ", "commenter")
    token = link.rpartition("/")[2]
    membership = services.accept(token, None)
    assert (membership.person.username, membership.role) == ("grace@example.org", "commenter")
    with pytest.raises(NotFound, match="has been used"):
        services.accept(token, None)


def test_a_person_invites_only_so_many(ada, team, settings):
    settings.MAX_INVITATIONS = 3
    grace = joined(team, "grace@example.org", "owner")
    services.invite(team, ada, "bob@example.org", "viewer")
    joined(services.create_team(grace, "hers"), "carol@example.org", "owner")
    for person in (ada, grace, User.objects.get(username="carol@example.org")):
        with pytest.raises(TooMany, match="not proven yet: 3, of 3 that you may have"):
            services.invite(team, person, "dan@example.org", "viewer")
    services.invite(team, ada, "bob@example.org", "editor")  # in place of the one before
    proving.prove(grace)
    services.invite(team, ada, "dan@example.org", "viewer")
    row = people.person(ada.pk)
    assert (row.unproven_accounts, row.invitations) == (0, 2)
    assert people.person(grace.pk).unproven_accounts == 1


def test_an_invitation_cannot_take_over_an_account(ada, team):
    grace, eve = a_person("grace@example.org"), a_person("eve@example.org")
    token = services.invite(team, ada, "grace@example.org", "editor")[1].rpartition("/")[2]
    for somebody in (None, eve):
        with pytest.raises(Conflict, match="for grace@example.org, who has an account"):
            services.accept(token, somebody)
    assert services.accept(token, grace).person == grace


def test_an_invitation_ends_by_time_by_withdrawal_and_by_the_next(ada, team):
    invitation, link = services.invite(team, ada, "grace@example.org", "editor")
    _, second = services.invite(team, ada, "grace@example.org", "viewer")
    with pytest.raises(NotFound, match="unknown or was withdrawn"):
        services.accept(link.rpartition("/")[2], None)
    Invitation.objects.update(expires_at=invitation.created_at)
    with pytest.raises(NotFound, match="has expired"):
        services.accept(second.rpartition("/")[2], None)
    services.withdraw(Invitation.objects.get(), ada)
    assert not Invitation.objects.exists()


def test_invitations_that_ended_long_ago_are_forgotten_whether_used_or_not(ada, team):
    long_ago = timezone.now() - invitations.KEPT
    for name, expires_at, accepted_at in (
        ("expired", long_ago, None),
        ("used", long_ago, long_ago),
        ("expired-now", timezone.now(), None),
        ("used-now", timezone.now(), timezone.now()),
    ):
        row, _ = services.invite(team, ada, f"{name}@example.org", "editor")
        row.expires_at, row.accepted_at = expires_at, accepted_at
        row.save()
    assert invitations.forget_old() == 2
    left = Invitation.objects.order_by("pk").values_list("address", flat=True)
    assert list(left) == ["expired-now@example.org", "used-now@example.org"]


def close(person, team, owner):
    people.close(person, owner)


def remove(person, team, owner):
    services.remove(team.memberships.get(person=person), owner)


def demote(person, team, owner):
    services.change_role(team.memberships.get(person=person), owner, "editor")


@pytest.mark.parametrize("end", [close, remove, demote])
def test_who_is_an_owner_no_more_does_not_come_back_by_an_invitation(ada, team, end):
    grace = joined(team, "grace@example.org", "owner")
    _, own = services.invite(team, grace, "grace@home.example", "owner")
    _, others = services.invite(team, ada, "bob@example.org", "viewer")
    end(grace, team, ada)
    with pytest.raises(NotFound, match="unknown or was withdrawn"):
        services.accept(own.rpartition("/")[2], None)
    assert services.accept(others.rpartition("/")[2], None).role == "viewer"


def test_an_invitation_of_before_needs_an_owner_behind_it(ada, team):
    """Servers have such rows from versions that kept the invitations of removed people."""
    grace = joined(team, "grace@example.org", "owner")
    _, link = services.invite(team, grace, "bob@example.org", "owner")
    team.memberships.filter(person=grace).update(role="viewer")
    with pytest.raises(NotFound, match="no longer an owner"):
        services.accept(link.rpartition("/")[2], None)


@pytest.mark.parametrize(
    ("address", "role", "field"),
    [
        ("grace", "viewer", "address"),
        ("owner@localhost", "viewer", "address"),  # the first of them is the operator
        ("g@e.org", "boss", "role"),
    ],
)
def test_a_wrong_invitation_names_its_field(ada, team, address, role, field):
    with pytest.raises(Invalid) as caught:
        services.invite(team, ada, address, role)
    assert caught.value.members["field"] == field


@pytest.mark.parametrize("name", ["", "  ", "x" * 101])
def test_a_team_needs_a_name_of_some_length(ada, name):
    with pytest.raises(Invalid):
        services.create_team(ada, name)


def test_nobody_signs_in_as_a_team(team):
    assert not team.account.is_active
    assert not team.account.has_usable_password()
    with pytest.raises(NotAnAddress):
        get_or_create_user(team.account.username)
    assert team.account not in people.people()


def test_a_recording_moves_into_a_team_and_back(ada, team):
    mine = Recording.objects.create(owner=ada, name="run", size=10, upload="kept")
    moving.move(mine, team.account, ada)
    assert Recording.objects.get().owner == team.account
    with pytest.raises(Conflict, match="there already"):
        moving.move(mine, team.account, ada)
    moving.move(mine, ada, ada)
    assert Recording.objects.get().owner == ada
    words = [(entry.detail["before"], entry.detail["now"]) for entry in team_log(team)]
    assert words[0] == (team.title, "ada@example.org")


def team_log(team):
    return AuditEntry.objects.filter(person_id=team.pk, action="moved")


def test_what_exceeds_the_team_s_limit_does_not_move(ada, team, settings):
    settings.MAX_STORED_BYTES = 5
    mine = Recording.objects.create(owner=ada, name="run", size=10, upload="kept")
    with pytest.raises(TooMany):
        moving.move(mine, team.account, ada)
    assert Recording.objects.get().owner == ada


def test_a_team_that_holds_something_is_not_deleted(ada, team, recording):
    with pytest.raises(Conflict, match="still has 1 recording"):
        services.delete_team(team, ada)
    recording.delete()
    services.delete_team(team, ada)
    assert not User.objects.filter(username__startswith="team:").exists()
