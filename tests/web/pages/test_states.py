"""The page of global states: the picture, the described state, and what is not drawn."""

import re
from html import unescape

import pytest

from snapshots.domain.simulators import samples
from snapshots.web.pages import states
from tests.builders import a_run, simulated
from tests.web.given import a_person, a_ready_recording, signed_in, text_of
from tests.web.pages.test_snapshot import words

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def html_of(client, row, query: str = "snapshot=s1") -> str:
    return unescape(text_of(client.get(f"/recordings/{row.pk}/states?{query}")))


def boxes(html: str) -> dict[str, str]:
    """Return what each state of the picture says to those who cannot see it, by number."""
    return dict(re.findall(r'<a [^>]*data-state="(\d+)"[^>]*aria-label="([^"]*)"', html))


def test_figure_7_is_drawn_with_the_recorded_state_beside_the_path_of_the_run(client, ada):
    html = html_of(client, a_ready_recording(ada, samples.a_state_that_never_occurred()))
    assert boxes(html) == {
        "0": "State 0: p A · q C; channels empty; on the path of the run",
        "1": "State 1: p B · q C; c: M; on the path of the run",
        "2": "State 2: p A · q D; c': M'; recorded",
        "3": "State 3: p B · q D; c: M · c': M'; on the path of the run",
        "4": "State 4: p A · q D; c: M; on the path of the run",
        "5": "State 5: p B · q C; c': M'",
        "6": "State 6: p A · q C; channels empty; on the path of the run",
    }
    page = words(html)
    assert "The run did not pass through it on its path" in page
    assert "State 2 recorded the run did not pass it on the path of Theorem 1" in page
    assert "p sends M on c: state 3" in page


def test_figure_4_appears_when_equal_states_are_drawn_once(client, ada):
    row = a_ready_recording(ada, samples.one_token())
    assert len(boxes(html_of(client, row))) == 7
    html = html_of(client, row, "snapshot=s1&fold=1")
    assert [text.partition("; on")[0] for text in boxes(html).values()] == [
        "State 0: p 1 · q 0; channels empty",
        "State 1: p 0 · q 0; c: 1",
        "State 2: p 0 · q 1; channels empty",
        "State 3: p 0 · q 0; c': 1; recorded",
    ]
    assert html.count('class="edge on-run"') == 4 + 1, "four events, and the legend"


def test_a_state_that_is_chosen_is_described_with_what_comes_next(client, ada):
    page = words(html_of(client, a_ready_recording(ada), "state=0"))
    assert "State 0 the run passed it" in page
    assert "A 10,000 B 5,000" in page
    assert "A: opens: state 1" in page
    assert "nothing: it is the first state" in page
    assert "Show what was recorded by s1" in page


@pytest.mark.parametrize("number", ["x", "-1", "21", "9" * 5000])
def test_a_state_that_is_not_there_is_refused(client, ada, number):
    answer = client.get(f"/recordings/{a_ready_recording(ada).pk}/states?state={number}")
    assert answer.status_code == 422
    assert "The graph has the states 0 to 20." in text_of(answer, 422)


def test_a_graph_that_is_too_large_is_not_drawn_and_the_page_says_why(client, ada):
    page = html_of(client, a_ready_recording(ada, simulated(events=300)), "")
    assert "No graph is drawn: the run has more than 10,000 consistent global states" in page
    assert "<svg class" not in page


def test_what_is_not_known_is_said(client, ada):
    log = a_run({"p": None, "q": 1}).send("p->q", "m1", 5, state=None).log()
    html = html_of(client, a_ready_recording(ada, log), "state=1")
    assert boxes(html)["1"].startswith("State 1: p not known · q 1; p->q: 5")
    assert "Which of them are equal is not known" in html


def test_rows_beyond_the_most_are_counted(client, ada, monkeypatch):
    monkeypatch.setattr(states, "MOST_ROWS", 3)
    assert "18 more states; the API gives all" in html_of(client, a_ready_recording(ada))


def test_the_pages_of_a_snapshot_and_of_the_proof_lead_here(client, ada):
    row = a_ready_recording(ada)
    for address in (
        f"/recordings/{row.pk}/snapshots/s1",
        f"/recordings/{row.pk}/proof?snapshot=s1",
    ):
        assert f'href="/recordings/{row.pk}/states?snapshot=s1"' in text_of(client.get(address))


def test_names_and_states_are_escaped(client, ada):
    log = a_run({"<b>p": "<i>", "q": 1}, {"c": ("<b>p", "q")}).send("c", "<m>", state="<i>").log()
    text = text_of(client.get(f"/recordings/{a_ready_recording(ada, log).pk}/states?state=1"))
    assert not re.search("<(b>p|i>|m>)", text)


def test_only_who_may_see_the_recording_may_see_its_graph(ada):
    row = a_ready_recording(ada)
    stranger = signed_in(a_person("eve@example.org"))
    assert stranger.get(f"/recordings/{row.pk}/states").status_code == 404
    assert signed_in(ada).get(f"/recordings/{row.pk}/states?snapshot=x").status_code == 404


def test_an_event_that_cannot_occur_is_refused_with_the_reason(client, api, ada):
    row = a_ready_recording(ada, samples.a_state_that_never_occurred())
    page = words(html_of(client, row, "snapshot=s1&state=2&try=1:5"))
    assert (
        "q receives M from c cannot occur. c is empty, and the event needs M at its head." in page
    )
    page = words(html_of(client, row, "snapshot=s1&state=2&try=0:2"))
    assert "p sends M on c can occur. The next global state: state 3 p B q D" in page
    address = f"/api/recordings/{row.pk}/states/2/occurrence?snapshot=s1"
    refused = api.get(f"{address}&process=q&index=5").json()
    assert (refused["may"], refused["next_state"]) == (False, None)
    assert refused["reasons"] == ["c is empty, and the event needs M at its head."]
    assert api.get(f"{address}&process=p&index=2").json()["next_state"] == 3


@pytest.mark.parametrize("event", ["1:99", "x", "9:0", "<b>"])
def test_an_event_that_the_run_does_not_have_is_refused(client, ada, event):
    row = a_ready_recording(ada, samples.a_state_that_never_occurred())
    answer = client.get(f"/recordings/{row.pk}/states", {"state": "0", "try": event})
    assert "The graph has no such event" in text_of(answer, 422)


def test_a_state_or_a_process_that_is_not_there_is_refused(api, ada):
    row = a_ready_recording(ada, samples.a_state_that_never_occurred())
    address = f"/api/recordings/{row.pk}/states"
    assert api.get(f"{address}/99/occurrence?process=q&index=5").status_code == 404
    assert api.get(f"{address}/0/occurrence?process=z&index=5").status_code == 422
