"""Two people, or two windows, import the same file at the same time."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from snapshots.models import Recording
from snapshots.reviews import entries
from snapshots.reviews.bundles import documents
from snapshots.reviews.models import Entry
from tests.web.api.bundles import downloaded, noted, parts_of, with_upload
from tests.web.given import a_client, a_file, a_person
from webapp.teams import services as teams
from webapp.teams.models import Membership

# Each thread has a connection of its own, which sees only what is committed.
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("data_dir"),
]
AT_ONCE = 4


def imported_at_once(clients, contents, **fields) -> list[dict]:
    """Upload each file with its client, all at the same moment, and return the answers."""
    ready = threading.Barrier(len(clients))

    def upload(client, content):
        try:
            file = a_file(content, "told.zip")
            ready.wait(20)
            answer = client.post("/api/recordings", {"file": file, **fields})
            assert answer.status_code == 202, (answer.status_code, answer.content)
            return answer.json()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(clients)) as threads:
        return list(threads.map(upload, clients, contents))


@pytest.fixture
def content(api, ada, settings) -> bytes:
    """Return a recording of somebody else with four notes and answers, as a file."""
    row = with_upload(ada, settings)
    noted(api, row)
    return downloaded(api, row.pk)


def versions_in(content: bytes) -> int:
    notes = json.loads(parts_of(content)[documents.NOTES])["entries"]
    return sum(len(each["versions"]) for note in notes for each in (note, *note["answers"]))


def sets_of_notes(recordings) -> list[int]:
    return [Entry.objects.filter(recording=row).count() for row in recordings]


def test_a_new_file_becomes_one_recording_with_one_set_of_notes(content):
    bob = a_person("bob@example.org")
    answers = imported_at_once([a_client(bob) for _ in range(AT_ONCE)], [content] * AT_ONCE)
    rows = Recording.objects.filter(owner=bob)
    assert sets_of_notes(rows) == [4]
    assert {answer["id"] for answer in answers} == {rows[0].pk}
    assert sum(answer["job"] is not None for answer in answers) == 1
    said = sorted(answer["notes"].rpartition("upload. ")[2] for answer in answers)
    assert said == ["All its notes are here already."] * (AT_ONCE - 1) + [
        "Notes and answers: 4 added."
    ]


def test_editors_of_a_team_import_into_one_recording(content):
    bob, carl = a_person("bob@example.org"), a_person("carl@example.org")
    team = teams.create_team(bob, "payments")
    Membership.objects.create(team=team, person=carl, role="editor")
    clients = [a_client(person) for person in (bob, carl, bob, carl)]
    imported_at_once(clients, [content] * AT_ONCE, team=team.pk)
    assert sets_of_notes(Recording.objects.filter(owner=team.account)) == [4]
    history = Entry.history.filter(id__in=Entry.objects.filter(recording__owner=team.account))
    assert history.count() == versions_in(content), "each version once"


def test_files_with_different_news_are_all_taken(content, ada, api):
    """Each file adds another note to the same recording; their numbers do not meet."""
    bob = a_person("bob@example.org")
    imported_at_once([a_client(bob)], [content])
    contents = []
    for number in range(AT_ONCE):
        source = Recording.objects.get(owner=ada)
        extra = entries.write(ada, source, {"text": f"news {number}"})
        contents.append(downloaded(api, source.pk))
        entries.delete(ada, extra)
    imported_at_once([a_client(bob) for _ in contents], contents)
    [row] = Recording.objects.filter(owner=bob)
    numbers = Entry.objects.filter(recording=row, parent=None).values_list("number", flat=True)
    assert sorted(numbers) == list(range(1, 4 + AT_ONCE))
