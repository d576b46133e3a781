"""The page of state-transition diagrams: what is lit, and what is not drawn."""

import re

import pytest

from snapshots.domain.simulators import samples
from tests.builders import a_run, simulated
from tests.web.given import a_ready_recording, text_of
from tests.web.pages.test_snapshot import words

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def shown(client, row, **query):
    return text_of(client.get(f"/recordings/{row.pk}/process-states", query))


def lit(page: str) -> list[str]:
    """Return the names of the states that are lit, in the order of the processes."""
    lit_circle = r'class="is-current">.*?<text class="name"[^>]*>(.*?)</text>'
    return re.findall(lit_circle, page, re.DOTALL)


def test_the_states_that_a_snapshot_recorded_are_lit(client, ada):
    row = a_ready_recording(ada, samples.a_state_that_never_occurred())
    page = shown(client, row, snapshot="s1")
    assert lit(page) == ["A", "D"]
    assert "A → B: send M on c, 1 time" in words(page)
    assert f'href="/recordings/{row.pk}/states?snapshot=s1"' in page


def test_one_goes_through_the_run_event_by_event(client, ada):
    row = a_ready_recording(ada, samples.a_state_that_never_occurred())
    assert lit(shown(client, row, step="0")) == ["A", "C"]
    page = shown(client, row, step="1")
    assert lit(page) == ["B", "C"]
    assert "After 1 of 4 events" in words(page)
    assert "p sends M on c." in words(page)
    assert 'href="?step=2"' in page
    assert lit(shown(client, row)) == ["A", "C"]


def test_a_process_that_never_recorded_is_named(client, ada):
    row = a_ready_recording(ada, a_run().internal("p", "works", state=3).record("p", "s1").log())
    page = shown(client, row, snapshot="s1")
    assert "Not known for q: never recorded." in words(page)
    assert lit(page) == ["3"]


def test_a_long_run_is_not_drawn(client, ada):
    row = a_ready_recording(ada, simulated(events=3_000))
    assert "No diagram is drawn" in words(shown(client, row))


@pytest.mark.parametrize("step", ["-1", "x", "99", "9" * 40])
def test_a_moment_that_the_run_does_not_have_is_refused(client, ada, step):
    row = a_ready_recording(ada)
    answer = client.get(f"/recordings/{row.pk}/process-states", {"step": step})
    assert answer.status_code == 422
