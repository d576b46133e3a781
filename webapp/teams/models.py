"""Define teams, who belongs to them, and invitations."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from snapshots.fields import Line
from webapp.teams.roles import CHOICES, Role

LONGEST_NAME = 100


class Team(models.Model):
    """People who share recordings, topologies, mappings, collectors and archived jobs.

    What belongs to a team has the team's ``account`` as its owner. Nobody can sign in to this
    account. Limits, retention, usage and the audit log therefore apply to teams as to people.
    """

    account = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="team", primary_key=True
    )
    name = Line(max_length=LONGEST_NAME)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["name", "pk"]

    def __str__(self) -> str:
        return self.name

    @property
    def title(self) -> str:
        """Return the number and the name, which the audit log keeps: team 7 “payments”."""
        return f"team {self.pk} “{self.name}”"


class Membership(models.Model):
    """One person's role in one team."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="memberships")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=9, choices=CHOICES)
    since = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["since", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["team", "person"], name="one_role_in_a_team"),
        ]

    def __str__(self) -> str:
        return f"{self.person} in {self.team}: {self.role}"

    def reaches(self, least: Role) -> bool:
        """Tell whether the person may do in the team what ``least`` may do."""
        return Role(self.role).reaches(least)


class Invitation(models.Model):
    """An invitation of one address to a team. Only the token's hash is kept.

    Whoever follows the link joins the team with the role. The link signs in only an account that
    it makes: a person who has an account already must be signed in, so that nobody can take over
    an account by inviting it. The new account is an ``UnprovenAccount``. With single sign-on the
    link makes none.
    """

    team = models.ForeignKey(Team, models.CASCADE, related_name="invitations")
    address = models.CharField(max_length=150)
    role = models.CharField(max_length=9, choices=CHOICES)
    token_hash = models.CharField(max_length=64, unique=True)
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="invitations_made"
    )
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"invitation of {self.address} to {self.team} as {self.role}"

    @property
    def is_open(self) -> bool:
        """Tell whether the link still works."""
        return self.accepted_at is None and self.expires_at > timezone.now()
