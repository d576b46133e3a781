"""The topology pages: list, editor, reading a text, simulating."""

import html
import json
import re

import pytest

from snapshots.models import Job, Recording, Topology
from snapshots.services.topologies import save_topology
from tests.web.given import a_file, a_person, text_of
from tests.web.pages.test_recordings import HOSTILE

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]

TWO = {
    "processes": [{"id": "A", "state": 100}, {"id": "B", "state": 100}],
    "channels": [
        {"id": "A->B", "source": "A", "target": "B", "fifo": True},
        {"id": "B->A", "source": "B", "target": "A", "fifo": True},
    ],
    "layout": {"A": [0.2, 0.5], "B": [0.8, 0.5]},
}


def a_form(action: str, document=TWO, **fields) -> dict:
    return {"action": action, "name": "two", "document": json.dumps(document), **fields}


def test_an_empty_list_offers_to_draw_one(client):
    assert "No topology yet" in text_of(client.get("/topologies"))


def test_a_drawn_topology_is_kept_with_its_places(client, ada):
    answer = client.post("/topologies/new", a_form("save"))
    row = Topology.objects.get(owner=ada)
    assert answer.url == f"/topologies/{row.pk}"
    assert row.definition["layout"] == TWO["layout"]
    assert "two" in text_of(client.get("/topologies"))


def test_a_refused_field_keeps_what_was_typed(client):
    broken = {**TWO, "processes": [{"id": "A"}, {"id": "A"}]}
    page = text_of(client.post("/topologies/new", a_form("save", broken)), 422)
    assert "have the id" in page
    assert 'value="two"' in page
    assert not Topology.objects.exists()


def test_a_missing_name_of_a_topology_is_reported_at_its_field(client):
    page = text_of(client.post("/topologies/new", a_form("save") | {"name": " "}), 422)
    assert 'aria-describedby="name-error"' in page


@pytest.mark.parametrize("document", ["", "{", "[]", '{"processes": 7}', '{"channels": {}}'])
def test_a_damaged_document_is_refused_and_no_500(client, document):
    form = {"action": "save", "name": "two", "document": document}
    assert client.post("/topologies/new", form).status_code == 422


@pytest.mark.parametrize("items", [[7], [None], [{"id": None}], [{"id": ["x"]}], [{}]])
def test_items_of_a_wrong_type_are_refused_and_no_500(client, items):
    for part in ("processes", "channels"):
        form = a_form("save", {**TWO, part: items})
        assert client.post("/topologies/new", form).status_code == 422


def test_a_pasted_text_is_read_into_the_editor_and_not_kept_yet(client):
    form = a_form("read", text="A -> B\nB <-> C\n")
    page = text_of(client.post("/topologies/new", form))
    assert "Read 3 processes and 3 channels" in page
    assert not Topology.objects.exists()


def test_a_top_file_is_read_with_its_tokens(client):
    form = a_form("read", file=a_file(b"2\nN1 1\nN2 0\nN1 N2\nN2 N1\n", "2nodes.top"), name="")
    page = text_of(client.post("/topologies/new", form))
    assert "Read 2 processes and 2 channels" in page
    assert 'value="2nodes"' in page


def test_a_text_that_cannot_be_read_is_refused_at_its_line_and_kept(client):
    page = text_of(client.post("/topologies/new", a_form("read", text="A -> B\nA B C\n")), 422)
    assert "Line 2" in page
    assert "A B C" in page
    assert "2 processes, 2 channels" in page


def test_a_file_that_is_no_text_is_refused(client):
    form = a_form("read", file=a_file(b"A B\n\xff\xfe\n", "x.top"))
    assert "Line 2: not UTF-8" in text_of(client.post("/topologies/new", form), 422)


def test_simulating_keeps_the_topology_and_opens_the_recording(client, ada):
    fields = {"workload": "token-ring", "seed": "7", "events": "50", "snapshot_times": "100, 900"}
    fields |= {"initiators": ["A", "B"], "mean_delay": "10"}
    answer = client.post("/topologies/new", a_form("simulate", **fields))
    recording = Recording.objects.get(owner=ada)
    assert answer.url == f"/recordings/{recording.pk}"
    assert recording.topology.name == "two"
    parameters = recording.parameters
    assert parameters["snapshot_times"] == [100, 900]
    assert (parameters["seed"], parameters["initiators"]) == (7, ["A", "B"])
    assert Job.objects.get(recording=recording).kind == Job.Kind.SIMULATE


def test_simulating_without_a_name_takes_one(client, ada):
    assert client.post("/topologies/new", a_form("simulate", name="  ")).status_code == 302
    assert Topology.objects.get(owner=ada).name == "Topology of 2 processes"
    answer = client.post("/topologies/new", a_form("save", name=""))
    assert answer.status_code == 422


def test_the_faults_and_the_algorithm_of_the_form_are_simulated(client, ada):
    fields = {"algorithm": "lai-yang", "collect": "on", "reorder": "all"}
    answer = client.post("/topologies/new", a_form("simulate", **fields, silent="B", stuck=" "))
    assert answer.status_code == 302, text_of(answer, answer.status_code)
    asked = Recording.objects.get(owner=ada).parameters
    assert (asked["algorithm"], asked["collect"]) == ("lai-yang", True)
    assert asked["reorder"] == [channel["id"] for channel in asked["topology"]["channels"]]
    assert (asked["silent"], asked["stuck"]) == (["B"], [])


@pytest.mark.parametrize(
    ("field", "typed"),
    [
        ("seed", "many"),
        ("events", "-1"),
        ("mean_delay", "1.5"),
        ("snapshot_times", "5, soon"),
        ("workload", "poker"),
        ("initiators", "Z"),
        ("algorithm", "dice"),
        ("reorder", "A->Z"),
        ("stuck", "B"),
        ("silent", "Z"),
    ],
)
def test_a_wrong_parameter_is_reported_at_its_field_with_what_was_typed(client, field, typed):
    page = text_of(client.post("/topologies/new", a_form("simulate", **{field: typed})), 422)
    assert page.count('class="field-error"') == 1
    if field not in ("workload", "initiators", "algorithm"):
        assert re.search(rf'value="{html.escape(typed)}" inputmode="\w+" aria-invalid="true"', page)
    assert not Recording.objects.exists()


def test_simulating_again_on_the_same_topology_does_not_copy_it(client, ada):
    row = save_topology(ada, TWO | {"name": "two"})
    changed = row.updated_at
    client.post(f"/topologies/{row.pk}", a_form("simulate"))
    row.refresh_from_db()
    assert row.updated_at == changed
    assert Topology.objects.count() == 1


def test_a_sample_is_copied_and_never_changed(client, ada):
    sample = save_topology(None, TWO | {"name": "sample"})
    client.post(f"/topologies/{sample.pk}", a_form("save"))
    sample.refresh_from_db()
    assert sample.name == "sample"
    assert Topology.objects.get(owner=ada).name == "two"
    assert client.post(f"/topologies/{sample.pk}/delete").status_code == 403


def test_someone_elses_topology_does_not_exist(client):
    row = save_topology(a_person("eve@example.org"), TWO | {"name": "secret"})
    assert client.get(f"/topologies/{row.pk}").status_code == 404
    assert client.post(f"/topologies/{row.pk}", a_form("save")).status_code == 404
    assert client.post(f"/topologies/{row.pk}/delete").status_code == 404


def test_a_topology_is_deleted_after_a_question(client, ada):
    row = save_topology(ada, TWO | {"name": "two"})
    assert "Delete “two”?" in text_of(client.get(f"/topologies/{row.pk}/delete"))
    client.post(f"/topologies/{row.pk}/delete")
    assert not Topology.objects.exists()


def test_hostile_ids_are_text_in_the_editor(client, ada):
    ends = {"source": HOSTILE, "target": "B"}
    document = {"name": HOSTILE, "processes": [HOSTILE, "B"], "channels": [ends]}
    row = save_topology(ada, document)
    page = text_of(client.get(f"/topologies/{row.pk}"))
    assert "<script>alert" not in page
    assert "alert(" in page
