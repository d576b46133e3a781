"""Whoever writes where a public link shows it is told so beside the form."""

import pytest

from snapshots.models import EngineJob
from snapshots.reviews import entries, incidents, timeline
from tests.web.given import a_ready_recording, signed_in, text_of
from webapp.links import limits, public

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
BADGE = "badge-public"
OF_NOTE = "a public link to this recording can read this note and who wrote it, without an account"


@pytest.fixture(autouse=True)
def _allowed(settings):
    settings.PUBLIC_LINKS = True
    settings.PUBLIC_URL = "http://testserver"
    limits.forget()


@pytest.fixture
def client(ada):
    return signed_in(ada)


@pytest.fixture
def banks(ada):
    return a_ready_recording(ada)


def badges(client, address: str) -> int:
    return text_of(client.get(address)).count(BADGE)


def pages_of(banks) -> list[str]:
    """Return the pages with a form for a note: the workbench, all notes, and a place."""
    paths = ("", "/notes", "/snapshots/s1")
    return [f"/recordings/{banks.pk}{path}" for path in paths]


def test_the_forms_of_notes_say_that_a_link_shows_them(client, ada, banks):
    entries.write(ada, banks, {"text": "Look", "place": "snapshot:s1"})
    assert [badges(client, page) for page in pages_of(banks)] == [0, 0, 0]
    link, _ = public.make(banks, ada, with_notes=True)
    # The panel has one form; the others have one for a new note, an answer and a new text.
    assert [badges(client, page) for page in pages_of(banks)] == [1, 3, 3]
    assert OF_NOTE in text_of(client.get(pages_of(banks)[0]))
    public.withdraw(link, ada)
    assert [badges(client, page) for page in pages_of(banks)] == [0, 0, 0]


def test_a_link_that_leaves_the_notes_out_makes_none_public(client, ada, banks):
    public.make(banks, ada)
    assert [badges(client, page) for page in pages_of(banks)] == [0, 0, 0]


def test_the_refused_text_of_a_public_note_says_so_too(client, ada, banks):
    note = entries.write(ada, banks, {"text": "Look"})
    public.make(banks, ada, with_notes=True)
    form = {"action": "edit", "text": "mine", "version": "0"}
    assert BADGE in text_of(client.post(f"/entries/{note.pk}/change", form), 409)


def test_the_forms_of_a_review_say_that_a_link_shows_it(client, ada):
    review = incidents.open_review(ada, ada, {"title": "Orders were lost"})
    row = timeline.add_words(ada, review, {"text": "We restarted."})
    page = f"/reviews/{review.pk}?edit={row.pk}"
    assert badges(client, page) == 0
    public.make(review, ada)
    assert badges(client, page) == 3, "head, row, and own words"
    assert "a public link to this review can read this" in text_of(client.get(page))
    alone = client.get(f"{page}&part=row&row={row.pk}", headers={"HX-Request": "true"})
    assert text_of(alone).count(BADGE) == 1


def test_an_archived_job_has_no_public_links(client, ada):
    job = EngineJob.objects.create(owner=ada, engine="flink", key="a" * 32)
    assert badges(client, f"/archive/{job.pk}/notes") == 0


def test_a_visitor_reads_no_badge(client, ada, banks):
    _, address = public.make(banks, ada, with_notes=True)
    client.logout()
    client.get(address)
    assert badges(client, f"/recordings/{banks.pk}") == 0
