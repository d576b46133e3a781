"""One thing of each kind that a team can own, and people with a role in the team."""

from snapshots.models import Collector, EngineJob, Mapping, Recording, Topology
from tests.web.given import a_person
from webapp.teams.models import Membership

MAPPING = {"process": "host", "kind": "event"}
DEFINITION = {"processes": [{"id": "A"}], "channels": [], "layout": {}}
MAKE = {
    "recordings": lambda owner: Recording.objects.create(owner=owner, name="thing"),
    "topologies": lambda owner: Topology.objects.create(
        owner=owner, name="thing", definition=DEFINITION
    ),
    "mappings": lambda owner: Mapping.objects.create(owner=owner, name="thing", document=MAPPING),
    "archive": lambda owner: EngineJob.objects.create(
        owner=owner, engine="flink", key="k", name="thing"
    ),
    "collectors": lambda owner: Collector.objects.create(
        owner=owner, engine="flink", url="http://thing:8081"
    ),
}
KINDS = list(MAKE)


def a_member(team, role, email="grace@example.org"):
    person = a_person(email)
    Membership.objects.create(team=team, person=person, role=role)
    return person
