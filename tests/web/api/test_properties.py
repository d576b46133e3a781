"""Properties over the snapshots of a recording: the API, and the page with its strip."""

import pytest

from snapshots.answers import properties as module
from snapshots.domain.simulators.samples import SAMPLES
from snapshots.domain.simulators.script import Script
from tests.web.given import a_client, a_person, a_ready_recording, post_json, signed_in, text_of
from tests.web.pages.test_snapshot import words

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
BY_SLUG = {sample.slug: sample for sample in SAMPLES}


def ask(api, row, **question):
    return post_json(api, f"/api/recordings/{row.pk}/properties", question)


def answers(answer) -> dict[str, str]:
    return {item["snapshot"]: item["answer"] for item in answer.json()["items"]}


@pytest.mark.parametrize(
    ("slug", "name"),
    [
        ("terminates", "termination"),
        ("deadlock", "deadlock"),
        ("token-lost", "token"),
        ("token-copied", "token"),
    ],
)
def test_a_property_becomes_true_between_two_snapshots_of_its_sample(api, ada, slug, name):
    row = a_ready_recording(ada, BY_SLUG[slug].log())
    found = ask(api, row, property=name)
    assert found.status_code == 200
    said = list(answers(found).values())
    assert said == sorted(said), "false before, true after"
    assert set(said) == {"false", "true"}
    assert found.json()["definition"]


def phases():
    """Return a run with a snapshot when p and q have finished phase 1 and p works on phase 2."""
    return (
        Script("phases", {"p": {"phase": 1}, "q": {"phase": 1}}, ["p->q", "q->p"])
        .send("p->q", "m1", {"phase": 1}, state={"phase": 2})
        .receive("p->q", "m1", state={"phase": 1, "active": False})
        .record("p", "s1")
        .send_marker("p->q", "s1")
        .receive_marker("p->q", "s1")
        .record("q", "s1")
        .record_channel("p->q", "s1")
        .send_marker("q->p", "s1")
        .receive_marker("q->p", "s1")
        .record_channel("q->p", "s1")
        .log()
    )


def test_the_end_of_a_phase_is_asked_with_its_number(api, ada):
    row = a_ready_recording(ada, phases())
    assert answers(ask(api, row, property="phase", phase=1)) == {"s1": "true"}
    second = ask(api, row, property="phase", phase=2)
    assert answers(second) == {"s1": "false"}
    assert (second.json()["title"], second.json()["phase"]) == ("Phase 2 has ended", 2)
    assert ask(api, row, property="phase").json()["phase"] == 1
    assert ask(api, row, property="termination").json()["phase"] is None


def test_the_page_says_what_keeps_each_object(api, ada):
    row = a_ready_recording(ada, BY_SLUG["garbage"].log())
    assert answers(ask(api, row, property="garbage")) == {"s1": "true", "s2": "false", "s3": "true"}
    said = words(
        signed_in(ada).get(f"/recordings/{row.pk}/properties?property=garbage").content.decode()
    )
    assert "a1 of A nothing: garbage a2 of A kept by A" in said
    assert "a1 of A kept by a message in A->B" in said.replace("&gt;", ">")


def test_the_page_asks_for_the_number_of_the_phase(ada):
    row = a_ready_recording(ada, phases())
    address = f"/recordings/{row.pk}/properties?property=phase&phase="
    said = words(signed_in(ada).get(f"{address}2").content.decode())
    assert "Phase 2 has ended" in said
    assert "p and q have not finished phase 2" in said
    refused = signed_in(ada).get(f"{address}zero")
    assert refused.status_code == 422
    assert "phase must be a whole number from 1" in words(refused.content.decode())


def test_an_expression_over_the_two_banks(api, ada):
    row = a_ready_recording(ada)
    assert answers(ask(api, row, expression='processes["A"] == 9000')) == {"s1": "true"}
    text = 'channels["B->A"] == [1000, 2000] && size(channels["A->B"]) == 0 && snapshot == "s1"'
    assert answers(ask(api, row, expression=text)) == {"s1": "true"}
    assert answers(ask(api, row, expression="A + B == 15000")) == {"s1": "false"}


@pytest.mark.parametrize(
    ("expression", "column"),
    [("A +", 4), ("A.sze() > 0", 3), ("processes", 1), ("", 1), ("1 + 1", 1)],
)
def test_an_expression_that_is_wrong_is_refused_with_its_column(api, ada, expression, column):
    answer = ask(api, a_ready_recording(ada), expression=expression)
    assert answer.status_code == 422
    problem = answer.json()
    assert (problem["field"], problem["column"]) == ("expression", column)
    assert problem["excerpt"].split("\n")[1].index("^") == column - 1


def test_an_endless_comprehension_is_stopped(api, ada):
    ten = "[0,1,2,3,4,5,6,7,8,9]"
    loops = "".join(f"{ten}.all(x{n}, " for n in range(12))
    answer = ask(api, a_ready_recording(ada), expression=f"{loops}true{')' * 12}")
    body = answer.json()
    stopped = answer.status_code == 422 and body["field"] == "expression"
    undecided = answer.status_code == 200 and body["items"][0]["answer"] == "unknown"
    assert stopped or undecided, body


@pytest.mark.parametrize(
    ("question", "field"),
    [
        ({}, "property"),
        ({"property": "deadlock", "expression": "true"}, "property"),
        ({"property": "dead"}, "property"),
        ({"property": 3}, "property"),
        ({"property": "phase", "phase": 0}, "phase"),
        ({"property": "phase", "phase": "two"}, "phase"),
        ({"property": "deadlock", "phase": 1}, "phase"),
        ({"expression": ["A"]}, "expression"),
    ],
)
def test_a_question_without_meaning_is_refused_at_its_field(api, ada, question, field):
    answer = ask(api, a_ready_recording(ada), **question)
    assert (answer.status_code, answer.json()["field"]) == (422, field)


def test_snapshots_beyond_the_most_are_counted(api, ada, monkeypatch):
    row = a_ready_recording(ada, BY_SLUG["deadlock"].log())
    monkeypatch.setattr(module, "MOST_SNAPSHOTS", 2)
    found = ask(api, row, property="deadlock").json()
    assert (len(found["items"]), found["omitted"], found["total"]) == (2, 4, 6)


def test_only_who_may_see_the_recording_may_ask(ada):
    row = a_ready_recording(ada)
    stranger = a_client(a_person("bob@example.org"))
    assert ask(stranger, row, property="token").status_code == 404
    assert (
        signed_in(a_person("eve@example.org")).get(f"/recordings/{row.pk}/properties").status_code
        == 404
    )


def test_the_page_shows_the_strip_and_what_follows(ada):
    row = a_ready_recording(ada, BY_SLUG["deadlock"].log())
    page = words(text_of(signed_in(ada).get(f"/recordings/{row.pk}/properties?property=deadlock")))
    assert "s3 false s4 true" in page
    assert "The property holds when the algorithm ends, and it stays true." in page


def test_the_page_points_at_the_column_and_keeps_what_was_typed(ada):
    row = a_ready_recording(ada)
    answer = signed_in(ada).get(f"/recordings/{row.pk}/properties", {"expression": "A + <b>"})
    assert answer.status_code == 422
    page = answer.content.decode()
    assert "A + &lt;b&gt;</textarea>" in page
    assert "Column 5" in words(page)


def test_without_a_snapshot_the_page_says_what_to_do(ada):
    log = Script("no snapshot", {"A": 1, "B": 2}, ["A->B"]).internal("A", "opens", at=1).log()
    row = a_ready_recording(ada, log)
    page = words(text_of(signed_in(ada).get(f"/recordings/{row.pk}/properties?property=token")))
    assert "no snapshot" in page
    assert "Drag a cut" in page


def test_the_built_in_ones_are_listed(api):
    listed = api.get("/api/properties").json()["items"]
    assert [item["property"] for item in listed] == [
        "termination",
        "phase",
        "deadlock",
        "garbage",
        "token",
        "conservation",
    ]
    assert all(item["definition"] and item["shape"] for item in listed)
