"""Be the process: the page shows what the bank sees, and the judge's answer at the end."""

import pytest

from tests.web.given import text_of
from tests.web.pages.test_snapshot import words

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def shown(client, **query):
    return words(text_of(client.get("/learn/process", query)))


def test_the_first_event_waits_for_a_decision(client, ada):
    page = shown(client)
    assert "You are about to send 30 to A (m1)." in page
    assert "You hold 100 Your state not recorded" in page
    assert "What you have seen" in page
    assert "The whole run" not in page


def test_a_decision_of_the_form_goes_into_the_address(client, ada):
    answer = client.get("/learn/process", {"seed": "4", "d": "-", "r": "1", "c": "1", "step": "1"})
    assert answer.status_code == 302
    assert answer["Location"] == "/learn/process?seed=4&d=-.rc"
    page = shown(client, seed="4", d="-.rc", why="1")
    assert "You recorded 70, sent a marker to C." in page
    assert "None went to A." in page


def test_who_follows_the_rules_is_told_so(client, ada):
    page = shown(client, seed="4", d="-.-.-.rac.n.-.-.-")
    assert "Your snapshot is consistent: it holds 300, as at the start" in page
    assert "Every decision was by the rules." in page
    assert "marker 20 m3: 20" not in page


def test_a_wrong_snapshot_has_its_witness_and_the_broken_rule_on_request(client, ada):
    decided = "-.-.-.rac.-.-.-.-"
    page = shown(client, seed="4", d=decided)
    assert (
        "lost Lost: m3 (20) is in flight on A->B, but the recorded channel state lacks it" in page
    )
    assert "1 decision was against a rule" in page
    assert "m3 is such a message: note it" not in page
    assert "m3 is such a message: note it" in shown(client, seed="4", d=decided, why="1")


def test_who_never_records_violates_l2(client, ada):
    page = shown(client, seed="4", d=".".join(8 * "-"))
    assert "L2 B never records, although a marker reached it on C->B (condition L2)." in page


@pytest.mark.parametrize(
    "query",
    [
        {"d": "x"},
        {"d": "ra."},
        {"d": "car"},
        {"d": ".".join(100 * "-")},
        {"seed": "-1"},
        {"seed": "x"},
        {"seed": "9" * 30},
    ],
)
def test_an_address_that_means_nothing_is_refused(client, ada, query):
    assert client.get("/learn/process", query).status_code == 422
