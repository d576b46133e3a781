"""People, teams, tokens, and rows that no call makes."""

from typing import TYPE_CHECKING

from tests.generated import world as things

if TYPE_CHECKING:
    from tests.generated.world import World


def people(world: "World") -> dict[str, int]:
    """Make people with tokens, and two teams, of which the numbers are returned."""
    from webapp.accounts.services import get_or_create_user, make_token
    from webapp.teams.models import Membership
    from webapp.teams.services import create_team

    def person(role: str, address: str):
        made = get_or_create_user(address)
        world.tokens[role] = make_token(made, f"token of {role}")[1]
        world.tokens[f"{role}, read"] = make_token(made, f"read of {role}", scope="read")[1]
        world.ids.setdefault("people", {})[role] = [made.pk]
        return made

    owner = person("owner", "owner@ours.example")
    theirs = person("their owner", "owner@theirs.example")
    person("alone", "alone@alone.example")
    person("outsider", "outsider@nobody.example")
    person("operator", "owner@localhost")
    teams = {"ours": create_team(owner, "team ours"), "theirs": create_team(theirs, "team theirs")}
    for role in ("viewer", "commenter", "editor"):
        member = person(role, f"{role}@ours.example")
        Membership.objects.create(team=teams["ours"], person=member, role=role)
    return {name: team.pk for name, team in teams.items()}


def add(world: "World", teams: dict[str, int]) -> None:
    """Add archived jobs, collectors, invitations and what a webhook sent."""
    from django.contrib.auth.models import User

    from bench import synthetic_archive
    from snapshots.models import Collector
    from webapp.notices.models import Webhook
    from webapp.teams.models import Invitation, Team
    from webapp.teams.services import invite

    for name, word in things.SECRETS.items():
        ids = world.ids[name]
        if name in teams:
            team = Team.objects.get(pk=teams[name])
            account = team.account
            by = team.memberships.get(role="owner").person
            invite(team, by, f"{word}@invited.example", "viewer")
            ids["invitation"] = list(
                Invitation.objects.filter(team=team).values_list("pk", flat=True)
            )
            ids["team"] = [team.pk]
        else:
            account = User.objects.get(pk=world.ids["people"]["alone"][0])
        job = synthetic_archive.fill(account, 12)
        job.name = f"job {word}"
        job.save()
        synthetic_archive.poll_stuck(job, 12)
        ids.setdefault("archived", []).append(job.pk)
        collector = Collector.objects.create(
            owner=account, engine="flink", url=f"http://{word}:8081"
        )
        ids["collector"] = [collector.pk]
        hook = Webhook.objects.get(pk=ids["webhook"][0])
        ids["delivery"] = list(hook.deliveries.values_list("pk", flat=True)[:5])
