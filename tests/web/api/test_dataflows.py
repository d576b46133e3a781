"""Dataflows as topologies: stored, refused, simulated from the API and the shell."""

import copy
import gzip

import orjson
import pytest
from django.core.management import CommandError, call_command

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.judging.verdicts import judge
from snapshots.files import uploads
from snapshots.limits import recording_limits
from snapshots.models import Job, Recording, Topology
from snapshots.readers import recognition
from snapshots.readers.formats.head import read_head
from snapshots.services import gallery
from snapshots.simulating import dataflows as dataflow_simulations
from snapshots.simulating import simulations, topology_documents
from tests.readers.inputs import read, source
from tests.web.given import a_file, post_json

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]

WORDS = {
    "vertices": [
        {"id": "lines", "kind": "source", "parallelism": 2, "records": 40, "rate": 2000},
        {"id": "count", "kind": "operator", "parallelism": 3, "function": "count", "cost": 200},
        {"id": "out", "kind": "sink", "parallelism": 2, "sink": "two-phase"},
    ],
    "edges": [
        {"source": "lines", "target": "count", "exchange": "hash"},
        {"source": "count", "target": "out", "exchange": "hash"},
    ],
}
DOCUMENT = {"name": "words", "dataflow": WORDS}


@pytest.fixture
def words(api) -> int:
    return post_json(api, "/api/topologies", DOCUMENT).json()["id"]


def test_a_dataflow_comes_back_with_the_topology_that_it_runs_as(api, words):
    found = api.get(f"/api/topologies/{words}").json()
    assert found["dataflow"]["vertices"][1] == {
        **{"max_parallelism": 128, "rate": 1000.0, "records": 100, "keys": 8, "skew": 0.0},
        **{"sink": "plain"},
        **WORDS["vertices"][1],
    }
    assert found["dataflow"]["edges"] == WORDS["edges"]
    names = [process["id"] for process in found["processes"]]
    assert names == [
        *["lines[0]", "lines[1]", "count[0]", "count[1]", "count[2]", "out[0]", "out[1]"],
        "coordinator",
    ]
    assert len(found["channels"]) == 12
    assert found["layout"] == {}


def test_what_was_read_from_the_api_can_be_put_back(api, words):
    found = api.get(f"/api/topologies/{words}").json()
    found["dataflow"]["vertices"][1]["parallelism"] = 1
    answer = post_json(api, f"/api/topologies/{words}", found, "put")
    assert answer.status_code == 200, answer.content
    assert len(answer.json()["processes"]) == 6


def test_a_plain_topology_shows_no_dataflow(api):
    document = {"processes": ["A"], "channels": [], "dataflow": None}
    assert "dataflow" not in post_json(api, "/api/topologies", document).json()


def test_a_dataflow_is_imported_from_text_and_file(api):
    text = orjson.dumps({"dataflow": WORDS})
    by_text = api.post("/api/topologies/import", {"text": text.decode(), "name": "words"})
    by_file = api.post("/api/topologies/import", {"file": a_file(text, "words.json")})
    for answer in (by_text, by_file):
        assert answer.status_code == 201, answer.content
        assert answer.json()["name"] == "words"
        assert answer.json()["dataflow"]["edges"] == WORDS["edges"]


def changed(path: str, value: object) -> dict:
    """Return the document with another value at a place such as ``vertices.1.parallelism``."""
    dataflow = copy.deepcopy(WORDS)
    *way, last = [int(part) if part.isdecimal() else part for part in path.split(".")]
    at = dataflow
    for part in way:
        at = at[part]
    at[last] = value
    return dataflow


WIDE = [vertex | {"parallelism": 200, "max_parallelism": 256} for vertex in WORDS["vertices"]]
VERY_WIDE = {"id": "a", "kind": "source", "parallelism": 2_000, "max_parallelism": 4_096}
REFUSED = [
    ({"vertices": [VERY_WIDE]}, "vertices[0].parallelism"),
    ({"vertices": [{"id": str(n), "kind": "source"} for n in range(501)]}, "vertices"),
    (changed("vertices.1.parallelism", 0), "vertices[1].parallelism"),
    (changed("vertices.1.parallelism", 10**5), "vertices[1].parallelism"),
    (changed("vertices.1.parallelism", 10**30), "vertices[1].parallelism"),
    (changed("vertices.1.parallelism", "two"), "vertices[1].parallelism"),
    (changed("vertices.1.parallelism", True), "vertices[1].parallelism"),
    (changed("vertices", WIDE), "edges[0].exchange"),
    (changed("vertices.0.rate", -1), "vertices[0].rate"),
    (changed("vertices.0.rate", "often"), "vertices[0].rate"),
    (changed("vertices.0.skew", 10**6), "vertices[0].skew"),
    (changed("vertices.0.keys", 10**9), "vertices[0].keys"),
    (changed("vertices.0.kind", "spring"), "vertices[0].kind"),
    (changed("vertices.0.kind", ["source"]), "vertices[0].kind"),
    ({"vertices": [{"id": "a\x00b", "kind": "source"}]}, "vertices[0].id"),
    (changed("vertices.0.id", {}), "vertices[0].id"),
    (changed("vertices.0.colour", "red"), "vertices[0].colour"),
    (changed("vertices.2.sink", "leaky"), "vertices[2].sink"),
    (changed("vertices.2", 7), "vertices[2]"),
    (changed("vertices.2", {"kind": "sink"}), "vertices[2].id"),
    ({"vertices": [], "edges": []}, "vertices"),
    (changed("vertices", {}), "vertices"),
    (changed("edges.0.target", "nowhere"), "edges[0].target"),
    (changed("edges.0.target", None), "edges[0].target"),
    (changed("edges.0.exchange", "teleport"), "edges[0].exchange"),
    (changed("edges.0.exchange", "forward"), "edges[0].exchange"),
    (changed("edges.0", {"source": "lines"}), "edges[0].target"),
    (changed("edges", 5), "edges"),
    (changed("edges", [WORDS["edges"][0]] * 2001), "edges"),
    (changed("edges", []), "vertices[1].id"),
    ("words", ""),
    ([], ""),
]


@pytest.mark.parametrize(("dataflow", "field"), REFUSED, ids=lambda item: str(item)[:40])
def test_a_dataflow_that_cannot_be_is_refused_at_its_field_and_not_stored(api, dataflow, field):
    answer = post_json(api, "/api/topologies", {"name": "words", "dataflow": dataflow})
    assert answer.status_code == 422, answer.content
    assert answer.json()["field"] == ("dataflow." + field).rstrip(".")
    assert not Topology.objects.exists()


FIELDS = [
    ({"protocol": "paxos"}, "protocol"),
    ({"workload": "bank"}, "workload"),
    ({"seed": -1}, "seed"),
    ({"checkpoints": 5}, "checkpoints"),
    ({"checkpoints": {"interval": 0}}, "checkpoints.interval"),
    ({"checkpoints": {"interval": "soon"}}, "checkpoints.interval"),
    ({"checkpoints": {"interval": 1}}, "checkpoints.interval"),
    ({"checkpoints": {"mode": "sideways"}}, "checkpoints.mode"),
    ({"checkpoints": {"mode": []}}, "checkpoints.mode"),
    ({"checkpoints": {"every": 5}}, "checkpoints.every"),
    ({"checkpoints": {"savepoints": [1, -1]}}, "checkpoints.savepoints[1]"),
    ({"checkpoints": {"savepoints": 7}}, "checkpoints.savepoints"),
    ({"checkpoints": {"mode": "unaligned", "max_concurrent": 2}}, "checkpoints.max_concurrent"),
    ({"checkpoints": {"timeout": 2**60}}, "checkpoints.timeout"),
    ({"buffer": 0}, "buffer"),
    ({"mean_delay": -1}, "mean_delay"),
    ({"async_time": 1.5}, "async_time"),
    ({"incremental": "yes"}, "incremental"),
    ({"slow": ["count[0]"]}, "slow"),
    ({"slow": {"count[0]": 0}}, "slow.count[0]"),
    ({"slow": {"count[0]": "very"}}, "slow.count[0]"),
    ({"slow": {"count[9]": 2}}, "slow.count[9]"),
    ({"failures": {"at": 5}}, "failures"),
    ({"failures": [5]}, "failures[0]"),
    ({"failures": [{"at": 5, "process": "count[0]"}, {"at": 5}]}, "failures[1].process"),
    ({"failures": [{"at": -5, "process": "count[0]"}]}, "failures[0].at"),
    ({"failures": [{"at": 5, "process": "coordinator"}]}, "failures[0].process"),
    ({"failures": [{"at": 5, "process": "count[0]", "why": 1}]}, "failures[0].why"),
    ({"failures": [{"at": 5, "process": "count[0]"}] * 21}, "failures"),
    ({"failover": "none"}, "failover"),
    ({"restart_delay": -1}, "restart_delay"),
    ({"lost_notices": 2}, "lost_notices"),
    ({"lost_notices": [2, 0]}, "lost_notices[1]"),
    ({"declines": [{"checkpoint": 1, "process": "Z"}]}, "declines[0].process"),
    ({"declines": [{"checkpoint": "1", "process": "out[0]"}]}, "declines[0].checkpoint"),
    ({"tx_timeout": 0}, "tx_timeout"),
    ({"weather": 1}, "weather"),
]
FIELDS += [
    ({"protocol": "spark", **parameters}, field)
    for parameters, field in [
        ({"checkpoints": {}}, "checkpoints"),
        ({"batches": 5}, "batches"),
        ({"batches": {"cores": 0}}, "batches.cores"),
        ({"batches": {"interval": 0, "most": 1}}, "batches.most"),
        ({"batches": {"most_per_split": 0}}, "batches.most_per_split"),
        ({"commit_time": -1}, "commit_time"),
        ({"failover": "region"}, "failover"),
        ({"failures": [{"at": 5, "process": "nobody"}]}, "failures[0].process"),
        ({"slow": {"coordinator": 2}}, "slow.coordinator"),
    ]
]
FIELDS += [
    ({"protocol": "spark-continuous", **parameters}, field)
    for parameters, field in [
        ({}, "dataflow.vertices[1].function"),
        ({"epochs": {"interval": 0}}, "epochs.interval"),
        ({"failover": "task"}, "failover"),
    ]
]
FIELDS += [
    ({"protocol": "seatunnel", **parameters}, field)
    for parameters, field in [
        ({"failover": "full"}, "failover"),
        ({"checkpoints": {"mode": "aligned"}}, "checkpoints.mode"),
        ({"checkpoints": {"interval": 1}}, "checkpoints.interval"),
        ({"checkpoints": {"retries": -1}}, "checkpoints.retries"),
        ({"savepoint": "soon"}, "savepoint"),
        ({"writer_commits": "out"}, "writer_commits"),
        ({"schema_changes": [{"split": "lines[0]"}]}, "schema_changes[0].after"),
        ({"schema_changes": [{"split": "out[0]", "after": 5}]}, "schema_changes[0].split"),
        ({"schema_changes": [{"split": "lines[0]", "after": 40}]}, "schema_changes[0].after"),
        ({"writer_commits": ["out", "count"]}, "writer_commits[1]"),
        ({"assign_every": 10**12}, "assign_every"),
        ({"failures": [{"at": 5, "process": "coordinator"}]}, "failures[0].process"),
        ({"start_from": 5}, "start_from"),
        ({"start_from": {"parallelism": {"lines": 2}}}, "start_from.at"),
        ({"start_from": {"at": 5, "parallelism": {"lines": 0}}}, "start_from.parallelism.lines"),
        ({"start_from": {"at": 5, "parallelism": {"words": 2}}}, "start_from.parallelism.words"),
        ({"start_from": {"at": 5, "parallelism": {"lines": 10**4}}}, "start_from.parallelism"),
    ]
]


@pytest.mark.parametrize(("parameters", "field"), FIELDS, ids=lambda item: str(item)[:50])
def test_a_parameter_without_meaning_is_refused_at_its_field(api, words, parameters, field):
    answer = post_json(api, f"/api/topologies/{words}/simulate", parameters)
    assert answer.status_code == 422, answer.content
    assert answer.json()["field"] == field
    assert not Recording.objects.exists()


@pytest.mark.parametrize(
    ("change", "slow", "field"),
    [
        ({"records": 10**9}, {}, "records"),
        ({"rate": 1e-300}, {}, "rate"),
        ({"cost": 10**9, "rate": 0}, {"lines[0]": 10**6}, "cost"),
    ],
)
def test_a_run_too_large_or_too_long_is_refused_at_the_source(api, change, slow, field):
    dataflow = changed("vertices.0", WORDS["vertices"][0] | change)
    document = {"name": "much", "dataflow": dataflow}
    much = post_json(api, "/api/topologies", document).json()["id"]
    asked = {"checkpoints": {"interval": None}, "slow": slow}
    answer = post_json(api, f"/api/topologies/{much}/simulate", asked)
    assert answer.status_code == 422, answer.content
    assert answer.json()["field"] == f"dataflow.vertices[0].{field}"


def test_a_run_is_a_recording_with_all_its_parameters(api, words):
    asked = {
        "seed": 7,
        "checkpoints": {"mode": "at-least-once", "interval": 20_000, "savepoints": [9_000, 5_000]},
        "slow": {"count[1]": 4},
        "failures": [{"at": 30_000, "process": "count[0]"}],
        "failover": "pipeline",
        "lost_notices": [2, 1, 2],
        "declines": [{"checkpoint": 3, "process": "out[1]"}],
        "tx_timeout": 10**6,
    }
    answer = post_json(api, f"/api/topologies/{words}/simulate", asked)
    assert answer.status_code == 202, answer.content
    recording = Recording.objects.get(pk=answer.json()["id"])
    kept = recording.parameters
    assert recording.name == "words, flink, at-least-once"
    assert kept["protocol"] == "flink"
    assert kept["lost_notices"] == [1, 2]
    assert kept["checkpoints"]["savepoints"] == [5_000, 9_000]
    assert kept["checkpoints"]["timeout"] == 10_000_000
    for name in ("seed", "slow", "failures", "failover", "declines", "tx_timeout"):
        assert kept[name] == asked[name]
    assert Job.objects.get(pk=answer.json()["job"]).kind == "simulate"


def simulated(dataflow: dict = WORDS, **parameters) -> bytes:
    definition = topology_documents.checked({"name": "words", "dataflow": dataflow})
    checked, _ = simulations.checked_for(definition, parameters)
    with uploads.Draft() as draft:
        document = {**checked, "topology": definition}
        simulations.write(draft, "a run", document, lambda *progress: None)
        draft.file.flush()
        head = recognition.check_head(read_head(draft.path, recording_limits()))
        assert (head.format, head.complete) == ("native", True)
        return gzip.decompress(draft.path.read_bytes())


@pytest.mark.parametrize("mode", ["aligned", "unaligned", "aligned with timeout"])
def test_a_run_reads_back_without_defects_and_its_checkpoints_are_consistent(tmp_path, mode):
    checkpoints = {"mode": mode, "interval": 8_000, "align_timeout": 500}
    failures = [{"at": 15_000, "process": "count[1]"}]
    lines = simulated(checkpoints=checkpoints, failures=failures, slow={"count[0]": 3})
    header, events, defects = read(source(tmp_path, lines))
    assert defects == ()
    assembly = assemble(header, events)
    assert assembly.defects == ()
    assert header.extra["dataflow"]["edges"] == WORDS["edges"]
    verdicts = [report.verdict for report in judge(assembly.recording)]
    assert verdicts.count("consistent") > 1
    assert set(verdicts) <= {"consistent", "incomplete"}
    crashed = [
        name for name, events in assembly.recording.events.items() if "crash" in kinds(events)
    ]
    assert crashed == ["count[1]"]


def kinds(events) -> set[str]:
    return {event.kind for event in events}


OTHER_PROTOCOLS = [
    {"protocol": "flink", "start_from": {"at": 20_000, "parallelism": {"count": 4}}},
    {"protocol": "spark", "batches": {"interval": 5_000}, "failover": "task"},
    {"protocol": "spark", "failures": [{"at": 31_000, "process": "coordinator"}]},
    {"protocol": "seatunnel", "failures": [{"at": 15_000, "process": "out.committer"}]},
    {"protocol": "seatunnel", "start_from": {"at": 9_000, "parallelism": {"lines": 4}}},
    {"protocol": "seatunnel", "writer_commits": ["out"]},
    {"protocol": "seatunnel", "schema_changes": [{"split": "lines[0]", "after": 20}]},
    {"protocol": "seatunnel", "savepoint": 12_000, "checkpoints": {"interval": None}},
]


@pytest.mark.parametrize("parameters", OTHER_PROTOCOLS, ids=str)
def test_runs_of_other_protocols_read_back_without_defects_and_consistent(tmp_path, parameters):
    lines = simulated(**{"failures": [{"at": 15_000, "process": "count[1]"}], **parameters})
    header, events, defects = read(source(tmp_path, lines))
    assert defects == ()
    assert header.extra["engine"] == parameters["protocol"]
    assembly = assemble(header, events)
    assert assembly.defects == ()
    verdicts = {report.verdict for report in judge(assembly.recording)}
    assert "consistent" in verdicts
    assert verdicts <= {"consistent", "incomplete"}


def test_a_run_of_another_protocol_is_a_recording_with_all_its_parameters(api, words):
    asked = {"protocol": "seatunnel", "start_from": {"at": 9_000, "parallelism": {"lines": 4}}}
    answer = post_json(api, f"/api/topologies/{words}/simulate", asked)
    assert answer.status_code == 202, answer.content
    recording = Recording.objects.get(pk=answer.json()["id"])
    assert recording.name == "words, seatunnel, from a savepoint"
    assert recording.parameters["checkpoints"]["retries"] == 3
    assert recording.parameters["start_from"] == asked["start_from"]


def test_the_same_seed_gives_the_same_run():
    assert simulated(seed=5) == simulated(seed=5) != simulated(seed=6)


def test_a_run_without_end_fails_with_the_reason(monkeypatch):
    monkeypatch.setattr(dataflow_simulations, "MOST_EVENTS", 100)
    with pytest.raises(dataflow_simulations.RunTooLong, match="100 events"):
        simulated()


def test_the_shell_takes_what_belongs_to_a_parameter_with_a_dot(monkeypatch, tmp_path):
    monkeypatch.setattr("snapshots.management.commands.simulate.workers_answer", lambda: True)
    (tmp_path / "words.json").write_bytes(orjson.dumps({"dataflow": WORDS}))
    call_command(
        *["simulate", str(tmp_path / "words.json"), "checkpoints.mode=aligned with timeout"],
        *["checkpoints.interval=9000", "slow.count[1]=4.5", "checkpoints.savepoints=1,2"],
        *['failures=[{"at": 5000, "process": "count[0]"}]', "lost_notices=3"],
    )
    kept = Recording.objects.get().parameters
    assert kept["checkpoints"]["mode"] == "aligned with timeout"
    assert (kept["checkpoints"]["interval"], kept["checkpoints"]["savepoints"]) == (9000, [1, 2])
    assert kept["slow"] == {"count[1]": 4.5}
    assert kept["failures"] == [{"at": 5000, "process": "count[0]"}]
    assert kept["lost_notices"] == [3]
    assert kept["topology"]["dataflow"]["edges"] == WORDS["edges"]


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        (["checkpoints.interval=0"], "checkpoints.interval: interval is a whole number"),
        (["checkpoints=5", "checkpoints.interval=5"], "checkpoints is given twice"),
        (["failures=[{]"], "failures: failures is a list"),
    ],
)
def test_the_shell_says_what_is_wrong_in_one_line(tmp_path, parameters, said):
    (tmp_path / "words.json").write_bytes(orjson.dumps({"dataflow": WORDS}))
    with pytest.raises(CommandError, match=said):
        call_command("simulate", str(tmp_path / "words.json"), *parameters)
    assert not Job.objects.exists()


def test_the_gallery_has_dataflows_to_simulate_on(api):
    gallery.load()
    for slug in ("smallest-dataflow", "word-count", "two-pipelines"):
        row = Topology.objects.get(slug=slug)
        assert row.is_dataflow
        answer = post_json(api, f"/api/topologies/{row.pk}/simulate", {})
        assert answer.status_code == 202, answer.content
