"""Pages of reviews: the list, one review without JavaScript, its parts, and follow-ups."""

import re

import pytest
from django.utils.timezone import now

from snapshots.models import EngineJob, Recording
from snapshots.reviews import entries, timeline
from snapshots.reviews.models import Entry, Review, TimelineRow
from snapshots.templatetags import incidents as incident_tags
from snapshots.web.pages import incident_choices, incident_rows
from tests.web.given import a_person, a_ready_recording, signed_in, text_of
from webapp.teams import services as teams
from webapp.teams.models import Membership

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]

HOSTILE = "<script>alert(1)</script> & *<b>*"
HTMX = {"HX-Request": "true"}


@pytest.fixture
def banks(ada):
    return a_ready_recording(ada)


@pytest.fixture
def review(client, banks):
    """Return the address of a review that was opened from the page of the recording."""
    answer = client.post("/reviews", {"recording": banks.pk})
    assert answer.status_code == 302
    return answer["Location"]


def pressed(client, review, action, status=200, **fields):
    answer = client.post(f"{review}/change", {"action": action, **fields}, follow=True)
    return text_of(answer, status)


def order(page):
    return re.findall(r'data-row="(\d+)"', page)


def test_the_empty_list_says_what_a_review_is_for_and_opens_one(client):
    page = text_of(client.get("/reviews"))
    assert "puts what a team found" in page
    page = text_of(client.post("/reviews", {"title": HOSTILE}, follow=True))
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page
    page = text_of(client.get("/reviews"))
    assert "&lt;script&gt;alert(1)" in page
    assert "not known" in page
    assert "Nothing matches status closed" in text_of(client.get("/reviews?status=closed"))
    assert client.post("/reviews", {"title": " "}).status_code == 422


def test_one_button_on_a_recording_opens_a_review_with_it(client, banks, review):
    page = text_of(client.get(review))
    assert "What happened in two banks" in page
    number = review.split("/")[-1]
    assert f'href="/recordings/{banks.pk}?review={number}">two banks</a>' in page
    listed = text_of(client.get(f"/recordings/{banks.pk}/notes"))
    assert "Open a review" in listed
    assert "What happened in two banks" in listed, "and it can be added to the one that is open"
    other = client.post("/reviews", {"recording": banks.pk, "review": review.split("/")[-1]})
    assert other["Location"] == review
    assert Review.objects.count() == 1


def test_a_timeline_is_curated_without_javascript(client, ada, banks, review):
    for text in ("first", HOSTILE):
        entries.write(ada, banks, {"text": text, "place": "event:B:2"})
    page = pressed(client, review, "add-all")
    assert "2 notes added to the timeline." in page
    assert "<script>alert" not in page
    first, second = order(page)
    assert order(pressed(client, review, f"up {second}")) == [second, first]
    assert order(pressed(client, review, f"down {second}")) == [first, second]
    page = pressed(client, review, f"hide {first}")
    assert order(page) == [second]
    assert "2 rows, 1 hidden" in re.sub(r"\s+", " ", page)
    assert order(text_of(client.get(f"{review}?hidden=1"))) == [first, second]
    pressed(client, review, f"show {first}")
    page = text_of(client.get(f"{review}?edit={first}"))
    revision = re.search(
        r'name="revision" value="(\d+)">\s*<div class="field"><label for="text-', page
    )
    page = pressed(client, review, f"save {first}", text="edited", at="5,100", revision=revision[1])
    assert "edited</p>" in page
    assert "Edited: what the note says" in page
    assert order(pressed(client, review, f"remove {first}")) == [second]
    assert Entry.objects.count() == 2


def test_a_refused_change_keeps_what_was_typed(client, review):
    pressed(client, review, "words", text="They restarted it.")
    row = TimelineRow.objects.get()
    page = pressed(client, review, f"save {row.pk}", 409, text="my words", revision="0")
    assert "You yourself saved this row on 20" in page
    assert "my words</textarea>" in page
    page = pressed(client, review, "edit", 422, title="better", began_at="noon", revision="9")
    assert "began_at must be a time" in page
    assert 'value="better"' in page
    assert pressed(client, review, "explode").count("Press one of the buttons") == 1


def test_rows_are_grouped_in_the_form_of_a_row(client, review):
    for action, text in [("words", "a"), ("group", "The outage")]:
        pressed(client, review, action, text=text)
    row, group = TimelineRow.objects.order_by("pk")
    form = {"text": "a", "group": group.pk, "revision": "99"}
    page = pressed(client, review, f"save {row.pk}", **form)
    assert order(page) == [str(group.pk), str(row.pk)]
    assert TimelineRow.objects.get(pk=row.pk).group_id == group.pk


def test_a_long_timeline_says_how_many_rows_are_not_shown(client, ada, review, monkeypatch):
    monkeypatch.setattr(incident_rows, "SHOWN", 2)
    row = Review.objects.get()
    keys = [timeline.add_words(ada, row, {"text": str(number)}).pk for number in range(5)]
    page = text_of(client.get(review))
    assert "3 more rows not shown." in page
    assert order(page) == [str(key) for key in keys[:2]]
    assert f'data-next="{keys[2]}"' in page
    assert len(order(text_of(client.get(f"{review}?rows=all")))) == 5


@pytest.mark.parametrize(
    ("part", "name"),
    [("head", "review-head"), ("timeline", "review-timeline"), ("log", "review-log")],
)
def test_the_script_gets_each_part_alone(client, review, part, name):
    page = text_of(client.get(f"{review}?part={part}", headers=HTMX))
    assert f'id="{name}"' in page
    assert "<html" not in page
    assert page.count("<section") <= 3


def test_an_entry_leads_to_its_place_or_says_why_it_is_gone(client, ada, banks):
    row = entries.write(ada, banks, {"text": "x", "place": "snapshot:s1"})
    assert client.get(f"/entries/{row.pk}")["Location"] == f"/recordings/{banks.pk}/snapshots/s1"
    Entry.objects.update(place="snapshot:s9")
    gone = client.get(f"/entries/{row.pk}")["Location"]
    assert gone == f"/recordings/{banks.pk}/notes#entry-{row.pk}"


def test_follow_ups_have_a_page_and_a_day_in_the_form(client, ada, banks):
    assert "No open follow-up" in text_of(client.get("/follow-ups"))
    form = {"text": HOSTILE, "kind": "follow-up", "due_on": "2020-01-31"}
    page = text_of(client.post(f"/recordings/{banks.pk}/notes", form, follow=True))
    assert "due 2020-01-31" in page
    page = re.sub(r"\s+", " ", text_of(client.get("/follow-ups")))
    assert "2020-01-31, overdue" in page
    assert "1 overdue" in page
    assert "<script>alert" not in page
    assert "No resolved follow-up" in text_of(client.get("/follow-ups?state=resolved"))


def test_an_outsider_gets_404_and_sees_no_follow_up(client, ada, banks, review):
    entries.write(ada, banks, {"text": "secret", "kind": "follow-up"})
    eve = signed_in(a_person("eve@example.org"))
    for address in (review, f"{review}/delete", f"{review}?part=log"):
        assert eve.get(address).status_code == 404
    assert eve.post(f"{review}/change", {"action": "words", "text": "x"}).status_code == 404
    assert "secret" not in text_of(eve.get("/follow-ups"))


def test_a_review_is_deleted_after_a_question(client, review):
    assert "Its timeline of 0 rows goes with it" in text_of(client.get(f"{review}/delete"))
    client.post(f"{review}/delete")
    assert not Review.objects.exists()


@pytest.fixture
def two_shown(monkeypatch):
    """Let lists of the page of a review and of the menu show two rows."""
    monkeypatch.setattr(incident_choices, "SHOWN", 2)
    monkeypatch.setattr(incident_tags, "OFFERED", 2)


def options(page, name):
    select = re.search(rf'<select class="input" name="{name}".*?</select>', page, re.DOTALL)
    return re.findall(r"<option[^>]*>([^<]*)<", select[0]) if select else []


@pytest.mark.usefixtures("two_shown")
def test_a_choice_of_exhibits_says_how_many_are_not_listed_and_finds_them(client, ada, review):
    for name in ("first", "second", "third", HOSTILE):
        Recording.objects.create(owner=ada, name=name)
    jobs = [EngineJob.objects.create(owner=ada, key=key, changed_at=now()) for key in "abc"]
    page = words(text_of(client.get(review)))
    assert "2 more recordings and 1 more archived job not listed" in page
    assert len(options(page, "subject")) == 4
    assert options(text_of(client.get(review, {"exhibit": "FIR st"})), "subject") == ["first"]
    by_address = {"exhibit": f"http://testserver/archive/{jobs[0].pk}?t=1"}
    assert options(text_of(client.get(review, by_address)), "subject") == ["a in the archive"]
    page = words(text_of(client.get(review, {"exhibit": "<script>none"})))
    assert "No recording or archived job that can be added matches “&lt;script&gt;none”" in page
    assert 'name="exhibit"' in page, "another name can be searched"


def test_what_is_an_exhibit_already_is_not_offered(client, ada, banks, review):
    number = int(review.split("/")[-1])
    page = text_of(client.get(review))
    assert options(page, "subject") == []
    assert "Nothing else of yours can be added." in page
    other = a_ready_recording(ada)
    Recording.objects.filter(pk=other.pk).update(name="other")
    job = EngineJob.objects.create(owner=ada, key="orders", changed_at=now())
    client.post("/reviews", {"recording": other.pk, "place": "snapshot:s1", "review": number})
    offered = ["other", f"{job} in the archive"]
    assert options(text_of(client.get(review)), "subject") == offered, "s1 of it is one, not all"
    page = pressed(client, review, "add-exhibit", subject=f"archive:{job.pk}")
    assert options(page, "subject") == ["other"]
    address = {"exhibit": f"/recordings/{banks.pk}"}
    assert options(text_of(client.get(review, address)), "subject") == []
    assert options(text_of(client.post("/reviews", {"title": "x"}, follow=True)), "subject") == [
        "other",
        "two banks",
        f"{job} in the archive",
    ], "an exhibit of another review is offered"


@pytest.mark.usefixtures("two_shown")
def test_a_choice_finds_no_recording_of_somebody_else(client, ada, review):
    for name in ("first", "second"):
        Recording.objects.create(owner=ada, name=name)
    secret = Recording.objects.create(owner=a_person("eve@example.org"), name="secret")
    for wanted in ("secret", f"/recordings/{secret.pk}", "/recordings/9" + "0" * 17, "\0"):
        page = text_of(client.get(review, {"exhibit": wanted, "person": wanted}))
        assert "secret" not in options(page, "subject")


@pytest.mark.usefixtures("two_shown")
def test_a_choice_of_people_says_how_many_are_not_listed_and_finds_them(client, ada):
    team = teams.create_team(ada, "payments")
    for name in ("eve", "grace", "barbara"):
        Membership.objects.create(team=team, person=a_person(f"{name}@example.org"), role="viewer")
    review = client.post("/reviews", {"title": "lost", "team": team.pk})["Location"]
    page = words(text_of(client.get(review)))
    assert "1 more person not listed" in page
    assert options(page, "address") == ["barbara@example.org", "eve@example.org"]
    assert options(text_of(client.get(review, {"person": "grac"})), "address") == [
        "grace@example.org"
    ]
    page = words(text_of(client.get(review, {"person": "nobody"})))
    assert "Nobody else who sees the review matches “nobody”" in page


@pytest.mark.usefixtures("two_shown")
def test_the_menu_of_reviews_says_how_many_it_leaves_out(client, banks, review):
    assert review
    page = words(text_of(client.get(f"/recordings/{banks.pk}/notes")))
    assert "more open review" not in page
    for title in ("second", "third", "fourth"):
        client.post("/reviews", {"title": title})
    page = words(text_of(client.get(f"/recordings/{banks.pk}/notes")))
    assert '<a class="btn btn-quiet" href="/reviews">2 more open reviews' in page


def words(page):
    return re.sub(r"\s+", " ", page)
