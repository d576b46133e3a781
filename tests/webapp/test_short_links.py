"""Short links: they keep a page or a view exactly, and open for whoever may see it."""

import re

import pytest
from django.urls import get_resolver

from snapshots.web.json import dumps
from tests.stack import ROOT
from tests.web.given import a_client, a_person, a_ready_recording, signed_in, text_of
from webapp.links import addresses, short
from webapp.links.models import ShortLink
from webapp.links.views import View
from webapp.teams import services as teams
from webapp.teams.models import Membership

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]

VIEW = {
    "axis": "order",
    "now": 4.5,
    "from": 0,
    "to": 9,
    "snapshot": "s1",
    "compared": None,
    "selection": {"of": "event", "process": "A", "index": 2},
    "cut": [2, 5],
    "idle": True,
    "lanes": {"filter": "", "sort": "name", "grouped": False, "open": [], "pinned": ["B"],
              "first": None},
    "filters": {"channels": "A", "full": None, "states": ""},
    "panels": {"folded": ["depth"], "tables": [], "order": [], "sizes": {"depth": 400},
               "tab": "states"},
}  # fmt: skip


@pytest.fixture
def banks(ada):
    return a_ready_recording(ada)


def made(api, **body):
    return api.post("/api/links", dumps(body), content_type="application/json")


def link_to(api, address: str, **body) -> dict:
    answer = made(api, address=address, **body)
    assert answer.status_code == 201, answer.content
    return answer.json()


def test_a_short_link_of_a_view_opens_the_workbench_with_exactly_this_view(api, ada, banks):
    item = link_to(api, f"/recordings/{banks.pk}?axis=order", view=VIEW, name=" for  Monday ")
    assert re.fullmatch(r"\w{12}", item["key"])
    assert item["name"] == "for Monday"
    client = signed_in(ada)
    moved = client.get(f"/v/{item['key']}")
    assert moved["Location"] == f"/recordings/{banks.pk}?v={item['key']}"
    workbench = client.get(moved["Location"]).context["workbench"]
    assert workbench["view"] == VIEW


def test_the_long_address_still_works_without_a_row(ada, banks):
    answer = signed_in(ada).get(f"/recordings/{banks.pk}?t=5&cut=2.5&snapshot=s1")
    assert answer.context["workbench"]["view"] is None
    assert not ShortLink.objects.exists()


@pytest.mark.parametrize(
    "address",
    [
        "/recordings/{}/proof?snapshot=s1",
        "/recordings/{}/snapshots/a%2Fb%20c",
        "/recordings/{}/contents/1?operator=x#entries",
        "/compare/two?left={0}&right={0}",
        "/compare?recordings={0},{0}",
    ],
)
def test_a_short_link_leads_to_the_path_and_query_of_a_page(api, ada, banks, address):
    address = address.format(banks.pk)
    item = link_to(api, address)
    assert item["recording"] == banks.pk
    assert signed_in(ada).get(f"/v/{item['key']}")["Location"] == address


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example/recordings/{}",
        "//evil.example/recordings/{}",
        "/\\evil.example",
        "/recordings/{}/../../sign-out",
        "/recordings/{}/snapshots/%2e%2e/%2e%2e/x",
        "/recordings/{}\nX: y",
        "/recordings/{}/delete",
        "/recordings/{}/original",
        "/api/recordings/{}",
        "/recordings/{}?q=" + "x" * addresses.LONGEST,
        "/v/abcdefghijkl",
        "/compare/two",
        "/learn/rules",
        "/",
        "",
        None,
        7,
    ],
)
def test_an_address_that_is_no_page_about_something_is_refused(api, banks, address):
    text = address.format(banks.pk) if isinstance(address, str) else address
    answer = made(api, address=text)
    assert (answer.status_code, answer.json()["field"]) == (422, "address"), answer.content
    assert not ShortLink.objects.exists()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"script": 1}, "view.script"),
        ({"axis": "sideways"}, "view.axis"),
        ({"now": "5"}, "view.now"),
        ({"cut": [-1]}, "view.cut.0"),
        ({"snapshot": "x" * 1001}, "view.snapshot"),
        ({"lanes": {"pinned": ["x"] * 501}}, "view.lanes.pinned"),
        ({"panels": {"sizes": {"depth": 39}}}, "view.panels.sizes.depth"),
    ],
)
def test_a_view_that_no_workbench_writes_is_refused_with_its_field(api, banks, change, field):
    answer = made(api, address=f"/recordings/{banks.pk}", view=VIEW | change)
    assert answer.status_code == 422
    assert answer.json()["field"].endswith(field), answer.content


def test_the_server_knows_the_fields_of_a_view_that_the_workbench_writes():
    """A field that view.js learns must be learned here, else its links are refused."""
    source = (ROOT / "static/js/lib/view.js").read_text()
    rules = re.search(r"const RULES = \{(.*?)^\};", source, re.DOTALL | re.MULTILINE)
    assert rules is not None
    written = set(re.findall(r'^  "?([\w.]+)"?: ', rules[1], re.MULTILINE))
    parts = {"lanes", "filters", "panels"}
    known = {field.alias or name for name, field in View.model_fields.items()} - parts
    for part in parts:
        inner = View.model_fields[part].annotation.__args__[0].model_fields
        known |= {f"{part}.{name}" for name in inner}
    assert written == known


def test_the_same_view_twice_is_the_same_link_and_another_view_another(api, banks):
    address = f"/recordings/{banks.pk}"
    first = link_to(api, address, view=VIEW)
    again = link_to(api, f"{address}?t=1", view=dict(reversed(VIEW.items())), name="named later")
    other = link_to(api, address, view=VIEW | {"now": 5})
    assert first["key"] == again["key"] != other["key"]
    assert again["name"] == "named later"
    assert ShortLink.objects.count() == 2


def test_keys_are_random_and_not_in_order(api, banks):
    keys = [link_to(api, f"/recordings/{banks.pk}?t={t}")["key"] for t in range(5)]
    assert len({key[:4] for key in keys}) == 5
    assert all(len(key) >= 10 for key in keys)


def test_a_link_opens_for_the_team_and_for_nobody_else(ada):
    team = teams.create_team(ada, "payments")
    banks = a_ready_recording(team.account)
    grace, bob = a_person("grace@example.org"), a_person("bob@example.org")
    Membership.objects.create(team=team, person=grace, role="viewer")
    item = link_to(a_client(grace), f"/recordings/{banks.pk}", view=VIEW)
    assert signed_in(ada).get(f"/v/{item['key']}").status_code == 302
    hidden, unknown = (signed_in(bob).get(f"/v/{key}") for key in (item["key"], "x" * 12))
    assert hidden.status_code == unknown.status_code == 404
    assert "Ask them to share it with you" in text_of(hidden, 404)
    assert a_client(bob).get(f"/api/links/{item['key']}").status_code == 404
    refused = made(a_client(bob), address=f"/recordings/{banks.pk}", view=VIEW)
    assert refused.status_code == 404


def test_a_link_is_deleted_by_its_maker_or_an_editor(ada):
    team = teams.create_team(ada, "payments")
    banks = a_ready_recording(team.account)
    people = {name: a_person(f"{name}@example.org") for name in ("maker", "viewer")}
    for person in people.values():
        Membership.objects.create(team=team, person=person, role="viewer")
    by_maker, by_ada = (
        link_to(a_client(people["maker"]), f"/recordings/{banks.pk}?t={t}")["key"] for t in (1, 2)
    )
    refused = a_client(people["viewer"]).delete(f"/api/links/{by_maker}")
    assert (refused.status_code, refused.json()["type"]) == (403, "/problems/needs-role")
    assert a_client(people["maker"]).delete(f"/api/links/{by_maker}").status_code == 204
    client = signed_in(ada)
    assert client.post(f"/v/{by_ada}/delete")["Location"] == f"/recordings/{banks.pk}/sharing"
    assert not ShortLink.objects.exists()


def test_the_list_of_a_recording_names_its_links_and_that_of_a_sample_only_one_s_own(ada, banks):
    sample = a_ready_recording(None)
    bob = a_person("bob@example.org")
    link_to(a_client(bob), f"/recordings/{sample.pk}?t=1", name="of Bob")
    link_to(a_client(ada), f"/recordings/{sample.pk}?t=1", name="of Ada")
    link_to(a_client(ada), f"/recordings/{banks.pk}?t=1", name="before the loss")
    listed = a_client(ada).get(f"/api/recordings/{sample.pk}/links").json()
    assert [item["name"] for item in listed["items"]] == ["of Ada"]
    text = text_of(signed_in(ada).get(f"/recordings/{banks.pk}/sharing"))
    assert "before the loss" in text
    assert "of Bob" not in text_of(signed_in(ada).get(f"/recordings/{sample.pk}/sharing"))


def test_links_about_one_recording_are_bounded(api, banks, monkeypatch):
    monkeypatch.setattr(short, "MOST_LINKS", 2)
    for t in (1, 2):
        link_to(api, f"/recordings/{banks.pk}?t={t}")
    refused = made(api, address=f"/recordings/{banks.pk}?t=3")
    assert (refused.status_code, refused.json()["used"]) == (429, 2)
    assert made(api, address=f"/recordings/{banks.pk}?t=1").status_code == 201


def test_every_page_that_a_short_link_may_keep_exists():
    names = {pattern for pattern in get_resolver().reverse_dict if isinstance(pattern, str)}
    pages = addresses.OF_RECORDINGS | addresses.OF_ARCHIVED_JOBS | addresses.COMPARISONS.keys()
    assert pages <= names


def test_a_recording_takes_its_links_with_it(api, ada, banks):
    item = link_to(api, f"/recordings/{banks.pk}", view=VIEW)
    banks.delete()
    assert signed_in(ada).get(f"/v/{item['key']}").status_code == 404


@pytest.mark.parametrize(
    "path",
    ["defects", "properties", "predicates", "states?snapshot=s1", "proof?snapshot=s1", "bisect"],
)
def test_pages_with_a_state_have_the_share_button(ada, banks, path):
    text = text_of(signed_in(ada).get(f"/recordings/{banks.pk}/{path}"))
    assert f'data-share="copy" href="/recordings/{banks.pk}/sharing"' in text
