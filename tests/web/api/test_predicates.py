"""Predicates over all consistent cuts: the API, the job, and the page."""

import html
import re
from functools import partial

import pytest
from django.utils import timezone

from snapshots.domain.conditions.predicates import detect
from snapshots.domain.model.as_json import as_json
from snapshots.domain.simulators.samples import two_banks
from snapshots.domain.simulators.script import Script
from snapshots.jobs import running
from snapshots.models import Job
from snapshots.problems import Conflict, Refused
from snapshots.sandbox import evaluation
from snapshots.services.jobs import cancel_job, request_search
from tasks.spark.search import job as spark_job
from tasks.spark.stages import StagesHere
from tests.builders import recorded
from tests.web.given import a_client, a_person, a_ready_recording, post_json, signed_in, text_of
from tests.web.pages.test_snapshot import words

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("data_dir"),
    pytest.mark.slow,
]
RICH = "A == 9000 && B <= 3000"


@pytest.fixture
def banks(ada):
    return a_ready_recording(ada, ready_at=timezone.now())


@pytest.fixture
def here(monkeypatch):
    """Run the job without Spark."""
    monkeypatch.setattr(spark_job, "SparkStages", lambda *_: StagesHere())
    monkeypatch.setattr(spark_job.session, "get", lambda: None)


def ask(api, row, expression):
    return post_json(api, f"/api/recordings/{row.pk}/predicates", {"expression": expression})


def answered(job: Job) -> Job:
    running.run(job.pk)
    job.refresh_from_db()
    return job


def page_of(user, row, expression: str = "", status: int = 200) -> str:
    query = {"expression": expression} if expression else {}
    return text_of(signed_in(user).get(f"/recordings/{row.pk}/predicates", query), status)


# The API and the job.


def test_a_predicate_is_a_job_once_for_a_person_and_a_store(api, ada, banks):
    answer = ask(api, banks, RICH)
    assert answer.status_code == 202
    job = Job.objects.get(pk=answer.json()["job"])
    assert (job.kind, job.expression, job.state) == ("predicate", RICH, "queued")
    assert ask(api, banks, RICH).json() == answer.json()
    assert ask(api, banks, f"{RICH} && A > 0").json() != answer.json()
    Job.objects.filter(pk=job.pk).update(state="failed")
    assert ask(api, banks, RICH).json() != answer.json()
    detail = api.get(f"/api/jobs/{job.pk}").json()
    assert detail["expression"] == RICH


def test_what_is_not_local_is_refused_at_its_column_and_says_where_to_ask(api, banks):
    answer = ask(api, banks, "A >= 9000 && A < B")
    problem = answer.json()
    assert (answer.status_code, problem["type"]) == (422, "/problems/not-local")
    assert (problem["field"], problem["line"], problem["column"]) == ("expression", 1, 18)
    assert problem["excerpt"].split("\n")[1].index("^") == 17
    assert "is about A and B at once" in problem["detail"]
    assert f"POST /api/recordings/{banks.pk}/properties with the same" in problem["detail"]
    assert problem["instead"] == f"/api/recordings/{banks.pk}/properties"
    assert not Job.objects.exists()
    there = post_json(api, problem["instead"], {"expression": "A >= 9000 && A < B"})
    assert there.status_code == 200


@pytest.mark.parametrize("expression", [None, 3, ["A"], "", "A >", "A + 1", "A == \0", "x" * 2001])
def test_what_is_no_expression_is_refused_at_its_field(api, banks, expression):
    answer = ask(api, banks, expression)
    assert (answer.status_code, answer.json()["field"]) == (422, "expression")
    assert not Job.objects.exists()


def test_only_who_may_see_a_ready_recording_may_ask(api, ada, banks):
    assert ask(a_client(a_person("bob@example.org")), banks, RICH).status_code == 404
    banks.status = "running"
    banks.save()
    assert ask(api, banks, RICH).status_code == 409
    with pytest.raises(Conflict):
        request_search(ada, banks, RICH)


def test_the_job_ends_with_the_answer_of_the_reference(ada, banks, spark):
    job = answered(request_search(ada, banks, RICH))
    assert (job.state, job.phase, job.progress) == ("done", "searched", 1.0), job.error
    assert job.result == as_json(detect(recorded(two_banks()), RICH))
    assert job.result["possibly"] == "true"


def test_what_takes_too_long_is_refused_and_the_recording_stays_ready(
    ada, banks, here, monkeypatch
):
    hurried = partial(evaluation.evaluate, seconds=0.01)
    monkeypatch.setattr(spark_job.Search.__init__, "__defaults__", (hurried,))
    job = answered(request_search(ada, banks, RICH))
    assert (job.state, job.error["type"]) == ("refused", "/problems/invalid-expression")
    assert (job.error["field"], job.error["column"]) == ("expression", 1)
    assert "longer than 0.01 seconds" in job.error["detail"]
    banks.refresh_from_db()
    assert banks.status == "ready"
    assert "longer than 0.01 seconds" in words(page_of(ada, banks, RICH))


def test_a_cancelled_search_leaves_its_recording_ready(ada, banks):
    cancel_job(request_search(ada, banks, RICH))
    banks.refresh_from_db()
    assert (Job.objects.get().state, banks.status) == ("cancelled", "ready")
    assert "It was stopped before there was an answer" in words(page_of(ada, banks, RICH))


def test_a_refusal_is_a_problem_of_the_service_too(ada, banks):
    with pytest.raises(Refused, match="There is no process Z"):
        request_search(ada, banks, 'processes["Z"] == 1')


# The page.


def test_the_form_gives_an_example_of_this_recording(ada, banks):
    page = page_of(ada, banks)
    assert "possibly" in page
    example = html.unescape(re.search(r'placeholder="([^"]+)"', page)[1])
    assert request_search(ada, banks, example).expression == example


@pytest.mark.parametrize(
    ("state", "example"),
    [
        (3, "A == 3"),
        ({"balance": 3}, "A.balance == 3"),
        ({"in": [], "a b": "x"}, 'A["a b"] == "x"'),
        ([1], "A != null"),
        (None, "A != null"),
        ("x" * 99, "A != null"),
    ],
)
def test_the_example_fits_the_states(ada, state, example):
    row = a_ready_recording(ada, Script("one", {"A": state}, []).internal("A", "x").log())
    assert f'placeholder="{html.escape(example)}"' in page_of(ada, row)


def test_the_example_can_be_asked_whatever_the_processes_are_called(ada):
    for name in ("in", "a b", "processes", 'say "hi"\\', "ü"):
        row = a_ready_recording(ada, Script(name, {name: 1}, []).internal(name, "x").log())
        example = html.unescape(re.search(r'placeholder="([^"]+)"', page_of(ada, row))[1])
        assert request_search(ada, row, example).expression == example


def test_asking_begins_the_job_and_the_page_shows_how_it_goes(ada, banks):
    client, address = signed_in(ada), f"/recordings/{banks.pk}/predicates"
    answer = client.post(address, {"expression": f"  {RICH} "})
    assert answer.status_code == 302
    job = Job.objects.get()
    assert job.expression == RICH
    page = text_of(client.get(answer.url))
    assert f'data-job="{job.pk}"' in page
    assert '<meta http-equiv="refresh"' in page
    assert html.escape(RICH) in page


def test_an_answer_has_its_cuts_as_links_into_the_workbench_and_as_a_table(ada, banks, here):
    found = answered(request_search(ada, banks, RICH)).result
    page = page_of(ada, banks, RICH)
    assert "Possibly: yes" in words(page)
    first = ".".join(str(found["first"][name]) for name in "AB")
    assert f"/recordings/{banks.pk}?cut={first}" in page
    said = words(page)
    assert f"A {found['first']['A']} 9,000" in said
    assert "some observer could have seen" in said


def apart() -> Script:
    """Return a run in which A is open, then B. A may be through before B begins. C never says how
    it is."""
    return (
        Script("apart", {"A": 0, "B": 0, "C": None}, ["A->B"])
        .internal("A", "opens", state=1)
        .internal("A", "shuts", state=0)
        .internal("B", "opens", state=1)
        .internal("B", "shuts", state=0)
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("A == 1 && B == 1", ["Possibly: yes", "Definitely: no", "that meets it in no cut"]),
        ("A == 1", ["Possibly: yes", "Definitely: yes", "every observer must have seen"]),
        ("A == 7", ["Possibly: no", "Definitely: no", "conditions on A hold at none"]),
        ("A == 1 && C == 1", ["Possibly: not known", "Definitely: not known", "1 state of C"]),
    ],
)
def test_every_answer_is_written_in_words(ada, here, text, said):
    row = a_ready_recording(ada, apart().log())
    answered(request_search(ada, row, text))
    page = words(page_of(ada, row, text))
    for part in said:
        assert part in page
    assert ("cut in which it holds" in page) == ("Possibly: yes" in said)


def test_what_is_not_local_is_offered_to_the_recorded_snapshots(ada, banks):
    client, address = signed_in(ada), f"/recordings/{banks.pk}/predicates"
    page = text_of(client.post(address, {"expression": "A < B"}), 422)
    assert "A &lt; B</textarea>" in page
    assert "Column 5" in words(page)
    assert f"/recordings/{banks.pk}/properties?expression=A+%3C+B" in page
    assert "POST /api" not in page
    wrong = text_of(client.post(address, {"expression": "A <"}), 422)
    assert "properties?expression" not in wrong


def test_what_was_asked_before_is_listed(ada, banks, here):
    for text in (RICH, "A == 7"):
        answered(request_search(ada, banks, text))
    assert "A == 7 no no" in words(page_of(ada, banks, RICH))
    assert "A == 9000 && B <= 3000 yes no" in words(page_of(ada, banks))


def test_an_answer_for_an_earlier_store_is_not_shown(ada, banks, here):
    answered(request_search(ada, banks, RICH))
    banks.ready_at = timezone.now()
    banks.save()
    page = words(page_of(ada, banks, RICH))
    assert "Possibly:" not in page


def test_the_page_is_only_for_who_may_see_the_recording(ada, banks):
    page_of(a_person("bob@example.org"), banks, status=404)


def test_other_pages_lead_to_it(ada, banks, here):
    address = f"/recordings/{banks.pk}/predicates"
    client = signed_in(ada)
    for other in (f"/recordings/{banks.pk}", f"/recordings/{banks.pk}/properties"):
        assert f'href="{address}"' in text_of(client.get(other)), other
    job = answered(request_search(ada, banks, RICH))
    assert f"{address}?expression=A+%3D%3D+9000" in text_of(client.get(f"/jobs/{job.pk}"))
