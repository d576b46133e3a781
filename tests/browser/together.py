"""A team whose people look at one recording, each in a browser of their own."""

import json
from dataclasses import dataclass

from tests.stack import Stack

# The recording is written without a worker, which these tests have no use for.
TEAM = """
import json
from django.conf import settings
from django.test import Client
from snapshots.domain.simulators.samples import two_banks
from snapshots.reviews.models import Exhibit, Review
from tests.web.given import a_person, a_ready_recording
from webapp.teams import services as teams
from webapp.teams.models import Membership
people = {{name: a_person(f"{{name}}@example.org") for name in {names}}}
first, *others = people
team = teams.create_team(people[first], "payments")
for name in others:
    role = "commenter" if name.startswith("commenter") else "editor"
    Membership.objects.create(team=team, person=people[name], role=role)
sessions = {{}}
for name, person in people.items():
    client = Client()
    client.force_login(person)
    sessions[name] = client.cookies[settings.SESSION_COOKIE_NAME].value
recording, other = [a_ready_recording(team.account, two_banks()) for _ in range(2)]
review = Review.objects.create(owner=team.account, title="late payments")
for shown in (recording, other):
    Exhibit.objects.create(review=review, recording=shown, name=shown.name)
print(json.dumps({{
    "team": team.pk, "recording": recording.pk, "sessions": sessions,
    "other": other.pk, "review": review.pk,
    "cookie": settings.SESSION_COOKIE_NAME,
    "people": {{name: person.pk for name, person in people.items()}}}}))
"""


@dataclass(frozen=True, slots=True)
class TogetherTeam:
    """A team with a ready recording.

    Attributes:
        team: the number of the team.
        recording: the number of the recording.
        other: the number of another recording.
        review: the number of a review.
        people: the number of each person by their name.
        sessions: the session key of each person by their name.
        cookie: the name of the cookie of a session.
    """

    team: int
    recording: int
    other: int
    review: int
    people: dict[str, int]
    sessions: dict[str, str]
    cookie: str

    @property
    def address(self) -> str:
        return f"/recordings/{self.recording}"

    def state(self, name: str, stack: Stack) -> dict:
        """Return the cookies of a person, as Playwright takes them."""
        cookie = {"name": self.cookie, "value": self.sessions[name], "url": stack.url}
        return {"cookies": [cookie], "origins": []}


def make_team(stack: Stack, *names: str) -> TogetherTeam:
    """Make a team of the first person with the others: editors, and commenters by their name."""
    code = TEAM.format(names=list(names))
    return TogetherTeam(**json.loads(stack.manage("shell", "--verbosity", "0", "-c", code)))
