"""The pages of dataflows: list, editor, text, and the form of a simulated run."""

import json
import re

import pytest
from django.conf import settings

from snapshots.models import Recording, Topology
from snapshots.services import gallery
from snapshots.services.topologies import save_topology
from snapshots.simulating import dataflows as dataflow_simulations
from tests.web.api.test_dataflows import DOCUMENT, WORDS, changed
from tests.web.given import text_of
from tests.web.pages.test_recordings import HOSTILE

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir"), pytest.mark.slow]

NEW = "/topologies/new?kind=dataflow"


def a_form(action: str, dataflow: object = WORDS, **fields) -> dict:
    document = json.dumps({"dataflow": dataflow})
    return {"action": action, "name": "words", "document": document, **fields}


def test_the_list_leads_to_a_new_dataflow_and_says_which_ones_are(client, ada):
    save_topology(ada, DOCUMENT)
    page = text_of(client.get("/topologies"))
    assert f'href="{NEW}"' in page
    assert '<span class="badge">dataflow</span>' in page


def test_a_new_dataflow_begins_with_one_that_can_be_simulated(client):
    page = text_of(client.get(NEW))
    document = json.loads(re.search(r'id="topology-data"[^>]*>(.*?)</script>', page)[1])["document"]
    form = a_form("simulate", document["dataflow"])
    assert client.post(NEW, form).status_code == 302
    assert Topology.objects.get().is_dataflow


def test_without_javascript_vertices_and_edges_stand_in_tables(client, ada):
    row = save_topology(ada, DOCUMENT)
    page = text_of(client.get(f"/topologies/{row.pk}"))
    page = page.replace("> <", "><")  # between cells no white space shows
    assert re.search(r"<th scope=\"row\">count</th><td>operator</td><td class=\"num\">3</td>", page)
    assert "<td>lines</td><td>count</td><td>hash</td>" in page
    assert '<option value="out[1]">' in page


def test_a_dataflow_is_saved_and_the_same_again_changes_nothing(client, ada):
    client.post(NEW, a_form("save"))
    row = Topology.objects.get(owner=ada)
    changed_at = row.updated_at
    answer = client.post(f"/topologies/{row.pk}", a_form("save", row.definition["dataflow"]))
    assert answer.url == f"/topologies/{row.pk}"
    row.refresh_from_db()
    assert row.updated_at == changed_at


def test_a_refused_dataflow_keeps_what_was_typed_and_names_the_field(client):
    broken = changed("vertices.1.parallelism", "many")
    page = text_of(client.post(NEW, a_form("save", broken)), 422)
    assert "dataflow.vertices[1].parallelism" in page
    assert "many" in page
    assert 'value="words"' in page
    assert not Topology.objects.exists()


@pytest.mark.parametrize(
    "dataflow", [7, [], "x", {"vertices": 7}, {"edges": {}}, {"vertices": [7, None, {"id": []}]}]
)
def test_a_damaged_dataflow_is_refused_and_no_500(client, dataflow):
    assert client.post(NEW, a_form("save", dataflow)).status_code == 422


@pytest.mark.parametrize("document", ["\\ud800", "1e999", '{"dataflow": {"vertices": [NaN]}}'])
def test_what_is_no_json_is_refused_and_no_500(client, document):
    form = a_form("save") | {"document": document}
    assert client.post(NEW, form).status_code == 422


def test_the_text_of_a_dataflow_opens_its_editor_even_on_the_other_page(client):
    text = json.dumps({"dataflow": WORDS})
    page = text_of(client.post("/topologies/new", {"action": "read", "text": text}))
    assert "Read 3 vertices and 2 edges" in page
    assert "dataflow/index.js" in page
    assert not Topology.objects.exists()


def test_an_edge_list_opens_the_editor_of_processes(client):
    page = text_of(client.post(NEW, a_form("read", text="A -> B\n")))
    assert "Read 2 processes and 1 channel" in page
    assert "topology/index.js" in page


def test_a_text_that_cannot_be_read_keeps_the_dataflow(client):
    page = text_of(client.post(NEW, a_form("read", text='{"dataflow": {"vertices": []}}')), 422)
    assert "at least one vertex" in page
    assert "3 vertices, 2 edges" in page


FORM = {
    "mode": "aligned with timeout",
    "protocol": "flink",
    "failover": "region",
    "interval": "20000",
    "seed": "7",
    "buffer": "3",
    "slow_task": "count[1]",
    "slow_factor": "2.5",
    "failure_process": "count[0]",
    "failure_at": "30_000",
    "lost_notices": "2, 3",
    "savepoints": "9000",
    "align_timeout": "700",
    "mean_delay": "50",
    "decline_checkpoint": "4",
    "decline_process": "out[0]",
}


def test_simulating_keeps_the_dataflow_and_opens_the_recording(client, ada):
    answer = client.post(NEW, a_form("simulate", **FORM))
    recording = Recording.objects.get(owner=ada)
    assert answer.url == f"/recordings/{recording.pk}"
    assert recording.topology.name == "words"
    kept = recording.parameters
    checkpoints = kept["checkpoints"]
    assert (checkpoints["mode"], checkpoints["interval"]) == ("aligned with timeout", 20_000)
    assert (checkpoints["align_timeout"], checkpoints["savepoints"]) == (700, [9000])
    assert (kept["seed"], kept["buffer"], kept["mean_delay"]) == (7, 3, 50)
    assert kept["slow"] == {"count[1]": 2.5}
    assert kept["failures"] == [{"at": 30_000, "process": "count[0]"}]
    assert kept["lost_notices"] == [2, 3]
    assert kept["declines"] == [{"checkpoint": 4, "process": "out[0]"}]
    assert (kept["failover"], kept["incremental"]) == ("region", False)


OF_SEATUNNEL = {
    "failover": "pipeline",
    "interval": "20000",
    "buffer": "3",
    "timeout": "900000",
    "retry_wait": "400",
    "retries": "2",
    "mean_delay": "50",
    "control_delay": "60",
    "sync_time": "70",
    "store_time": "80",
    "assign_every": "90",
    "restart_delay": "100",
    "tx_timeout": "700000",
    "savepoint": "40000",
    "writer_commits": "out",
    "schema_split": "lines[1]",
    "schema_after": "12",
    "start_at": "9000",
    "start_parallelism": "lines=3, count=1",
}
OF_SPARK = {
    "batch_interval": "6000",
    "most_per_split": "20",
    "cores": "2",
    "task_attempts": "3",
    "watermark_delay": "500",
    "control_delay": "60",
    "commit_time": "80",
    "retry_delay": "90",
    "restart_delay": "100",
    "again": "task",
}
OF_CONTINUOUS = {
    "epoch_interval": "6000",
    "poll_interval": "700",
    "buffer": "3",
    "mean_delay": "50",
    "control_delay": "60",
    "commit_time": "80",
    "restart_delay": "100",
}


def kept_of(client, ada, **typed) -> dict:
    answer = client.post(NEW, a_form("simulate", **{**FORM, **typed}))
    assert answer.status_code == 302, text_of(answer)
    return Recording.objects.get(owner=ada).parameters


def test_the_form_of_seatunnel_has_all_that_it_takes(client, ada):
    kept = kept_of(client, ada, protocol="seatunnel", **OF_SEATUNNEL)
    settings = {"interval": 20_000, "timeout": 900_000, "retry_wait": 400, "retries": 2}
    assert kept["checkpoints"] == settings
    assert kept["start_from"] == {"at": 9_000, "parallelism": {"lines": 3, "count": 1}}
    assert kept["writer_commits"] == ["out"]
    assert kept["schema_changes"] == [{"split": "lines[1]", "after": 12}]
    assert kept["failover"] == "pipeline"
    numbers = set(OF_SEATUNNEL) & set(kept) - {"writer_commits", "failover"}
    assert len(numbers) == 9
    assert {name: kept[name] for name in numbers} == {
        name: int(OF_SEATUNNEL[name]) for name in numbers
    }
    assert kept["slow"] == {"count[1]": 2.5}
    assert kept["failures"] == [{"at": 30_000, "process": "count[0]"}]


def test_the_form_of_spark_has_all_that_it_takes(client, ada):
    kept = kept_of(client, ada, protocol="spark", **OF_SPARK)
    settings = ("most_per_split", "cores", "task_attempts", "watermark_delay")
    batches = {name: int(OF_SPARK[name]) for name in settings}
    assert kept["batches"] == {"interval": 6_000, **batches}
    delays = ("control_delay", "commit_time", "retry_delay", "restart_delay")
    assert {name: kept[name] for name in delays} == {name: int(OF_SPARK[name]) for name in delays}
    assert (kept["failover"], kept["slow"]) == ("task", {"count[1]": 2.5})


def inputs_of(page: str, protocol: str) -> set[str]:
    """Return the names of the inputs that the page shows for a protocol."""
    parts = re.split(r'data-protocols="([^"]*)"', page)
    return {
        name
        for protocols, part in zip(parts[1::2], parts[2::2], strict=True)
        if protocol in protocols.split()
        for name in re.findall(r'<(?:input|select)[^>]* name="(\w+)"', part)
    }


@pytest.mark.parametrize(
    ("protocol", "typed"),
    [
        ("flink", FORM),
        ("seatunnel", OF_SEATUNNEL),
        ("spark", OF_SPARK),
        ("spark-continuous", OF_CONTINUOUS),
    ],
)
def test_the_page_has_an_input_for_each_parameter_of_a_protocol(client, protocol, typed):
    shown = inputs_of(text_of(client.get(NEW)), protocol)
    assert typed.keys() - {"protocol"} <= shown
    hidden = {"name", "protocol", "slow"}
    declared = {item.name for item in dataflow_simulations.PROTOCOLS[protocol].declared()}
    assert declared - hidden <= shown


def test_each_number_begins_with_its_default(client):
    page = text_of(client.get(NEW))
    for model in dataflow_simulations.PROTOCOLS.values():
        numbers = [item for item in model.declared() if item.kind == "number"]
        for item in numbers:
            if not item.info.is_required():
                begins = "" if item.default is None else str(item.default)
                assert f'name="{item.name}" value="{begins}" inputmode="numeric"' in page


def test_each_protocol_hides_the_inputs_of_the_others_in_the_styles():
    styles = (settings.BASE_DIR / "static/css/dataflow.css").read_text()
    for name in dataflow_simulations.PROTOCOLS:
        assert (
            f'[value="{name}"]:checked) [data-protocols]:not([data-protocols~="{name}"])' in styles
        )


def test_a_failure_without_a_subtask_is_none(client, ada):
    kept = kept_of(client, ada, failure_process=" ", decline_checkpoint="", decline_process="")
    assert (kept["failures"], kept["declines"]) == ([], [])


@pytest.mark.parametrize(
    ("protocol", "field", "typed"),
    [
        ("seatunnel", "interval", "-5"),
        ("seatunnel", "retries", "many"),
        ("seatunnel", "start_parallelism", "lines=none"),
        ("seatunnel", "start_parallelism", "nobody=2"),
        ("spark", "batch_interval", "-5"),
        ("spark", "cores", "0"),
        ("spark", "most_per_split", "0"),
        ("spark", "again", "everything"),
        ("spark-continuous", "epoch_interval", "0"),
        ("spark-continuous", "poll_interval", "seldom"),
    ],
)
def test_what_another_protocol_refuses_is_reported_at_its_field(client, protocol, field, typed):
    form = a_form("simulate", **{**FORM, "start_at": "9000", "protocol": protocol, field: typed})
    page = text_of(client.post(NEW, form), 422)
    assert page.count('class="field-error"') == 1
    if field != "again":
        assert f'id="{field}-error"' in page


def test_without_an_interval_there_are_no_periodic_checkpoints(client):
    client.post(NEW, a_form("simulate", interval=" "))
    assert Recording.objects.get().parameters["checkpoints"]["interval"] is None


@pytest.mark.parametrize(
    ("field", "typed"),
    [
        ("interval", "soon"),
        ("interval", "0"),
        ("seed", "many"),
        ("buffer", "0"),
        ("slow_task", "count[9]"),
        ("slow_factor", "much"),
        ("failure_process", "nobody"),
        ("failure_at", "later"),
        ("lost_notices", "1, two"),
        ("timeout", "0"),
        ("savepoints", "-5"),
        ("tx_timeout", "0"),
        ("decline_process", "nobody"),
        ("decline_checkpoint", "0"),
        ("mode", "sideways"),
        ("protocol", "paxos"),
        ("failover", "none"),
    ],
)
def test_a_wrong_parameter_is_reported_at_its_field_with_what_was_typed(client, field, typed):
    page = text_of(client.post(NEW, a_form("simulate", **FORM | {field: typed})), 422)
    assert page.count('class="field-error"') == 1
    if field not in ("mode", "protocol", "failover"):
        assert re.search(rf'name="{field}" value="{re.escape(typed)}"[^>]*aria-invalid', page)
        assert f'id="{field}-error"' in page
    assert not Recording.objects.exists()


def test_a_wrong_field_in_the_folded_part_unfolds_it(client):
    folded = text_of(client.get(NEW))
    assert '<details class="simulate-faults" >' in folded
    page = text_of(client.post(NEW, a_form("simulate", timeout="0")), 422)
    assert '<details class="simulate-faults" open>' in page


def test_a_sample_is_copied_and_never_changed(client, ada):
    gallery.load()
    sample = Topology.objects.get(slug="word-count")
    client.post(f"/topologies/{sample.pk}", a_form("save"))
    sample.refresh_from_db()
    assert sample.definition["dataflow"]["vertices"][0]["id"] == "source"
    assert Topology.objects.get(owner=ada).is_dataflow


def test_hostile_names_are_text_in_the_editor(client, ada):
    dataflow = {"vertices": [{"id": HOSTILE[:80], "kind": "source"}]}
    row = save_topology(ada, {"name": HOSTILE, "dataflow": dataflow})
    page = text_of(client.get(f"/topologies/{row.pk}"))
    assert "<script>alert" not in page
