"""Every step of the tours leads to a place that exists, and the pages show the tours."""

from pathlib import Path

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.guides import CHAPTERS, GUIDES, TERMS, slug_after
from snapshots.services.gallery import SAMPLES
from tests.web.given import a_person, a_ready_recording, signed_in, text_of
from tests.web.pages.test_snapshot import words

pytestmark = pytest.mark.slow

BY_SLUG = {sample.slug: sample for sample in SAMPLES}
STEPS = [(slug, n) for slug, guide in GUIDES.items() for n in range(len(guide.steps))]
LONGEST = 440  # characters in a step, so that text, picture and panel fit beside each other


@pytest.fixture(scope="module")
def recordings():
    logs = {slug: BY_SLUG[slug].log() for slug in GUIDES}
    return {slug: assemble(log.header, log.events).recording for slug, log in logs.items()}


def test_every_sample_of_the_gallery_has_a_tour():
    assert set(GUIDES) == set(BY_SLUG)
    assert sum(len(guides) for *_, guides in CHAPTERS) == len(GUIDES)


@pytest.mark.parametrize(("slug", "number"), STEPS)
def test_every_step_leads_to_a_place_that_is_there(recordings, slug, number):
    view, recording = GUIDES[slug].steps[number].view, recordings[slug]
    last = max(event.at for events in recording.events.values() for event in events)
    for name in ("t", "from", "to"):
        assert 0 <= int(view.get(name, 0)) <= last
    snapshots = {e.snapshot for events in recording.events.values() for e in events}
    assert view["snapshot"] in snapshots
    if "channel" in view:
        assert view["channel"] in recording.topology.channel_by_id
    if "event" in view:
        index, _, process = view["event"].partition("@")
        assert int(index) < len(recording.events[process])
    if "message" in view:
        message, _, channel = view["message"].partition("@")
        assert message in {sent.id for sent in recording.messages[channel]}
    if "cut" in view:
        positions = [int(part, 36) for part in view["cut"].split(".")]
        events = [recording.events[process.id] for process in recording.topology.processes]
        assert all(n <= len(own) for n, own in zip(positions, events, strict=True))


@pytest.mark.parametrize(("slug", "number"), STEPS)
def test_every_step_is_short_and_looks_at_a_panel_of_the_workbench(slug, number):
    step = GUIDES[slug].steps[number]
    assert len(step.text) <= LONGEST
    template = Path("templates/snapshots/workbench/reading.html").read_text()
    assert f'id="wb-tab-{step.look}"' in template


def test_the_terms_of_a_tour_come_with_their_meanings():
    assert ["marker", TERMS["marker"].meaning] in GUIDES["two-banks"].to_json(1)["terms"]


def test_one_tour_leads_to_the_next_until_the_last():
    slugs = ["two-banks"]
    while (later := slug_after(slugs[-1])) is not None:
        slugs.append(later)
    assert slugs == [guide.slug for *_, guides in CHAPTERS for guide in guides]


@pytest.mark.django_db
@pytest.mark.usefixtures("data_dir")
def test_every_lead_of_a_tour_opens():
    client = signed_in(a_person())
    for slug, guide in GUIDES.items():
        row = a_ready_recording(None, BY_SLUG[slug].log(), slug=slug)
        for step in guide.to_json(row.pk)["steps"]:
            for _, address in step["leads"]:
                assert client.get(address).status_code == 200, address


@pytest.mark.django_db
@pytest.mark.usefixtures("data_dir")
def test_the_page_lists_the_tours_and_the_words():
    row = a_ready_recording(None, BY_SLUG["two-banks"].log(), slug="two-banks")
    page = text_of(signed_in(a_person()).get("/learn"))
    assert f"/recordings/{row.pk}?tour=1" in page
    assert "Theorem 1" in words(page)
    assert GUIDES["two-banks"].promise in words(page)
    assert "not loaded" in words(page)


@pytest.mark.django_db
@pytest.mark.usefixtures("data_dir")
def test_the_workbench_of_a_sample_shows_its_tour_and_that_of_others_none():
    ada = a_person()
    sample = a_ready_recording(None, BY_SLUG["two-banks"].log(), slug="two-banks")
    later = a_ready_recording(None, BY_SLUG["one-token"].log(), slug="one-token")
    own = a_ready_recording(ada)
    client = signed_in(ada)
    page = text_of(client.get(f"/recordings/{sample.pk}"))
    assert "Two banks, and money between them" in page
    assert "The words of this tour" in page
    assert f"/recordings/{later.pk}?tour=1" in page
    assert "Guided tour" not in text_of(client.get(f"/recordings/{own.pk}"))
