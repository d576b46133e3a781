"""Topologies drawn and imported, and runs simulated on them."""

import gzip

import orjson
import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.simulators.protocols.flooding import knowledge
from snapshots.files import uploads
from snapshots.jobs import running
from snapshots.limits import recording_limits
from snapshots.models import Job, Recording, Topology
from snapshots.problems import Refused
from snapshots.readers import recognition
from snapshots.readers.formats.head import read_head
from snapshots.services import gallery
from snapshots.simulating import simulations, topology_documents
from snapshots.simulating.workload_runs import WorkloadParameters
from tests.readers.inputs import read, source
from tests.web.given import a_client, a_file, a_person, post_json

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]

RING = {
    "name": "ring",
    "processes": [{"id": "A", "state": {"tokens": 1}}, {"id": "B"}, {"id": "C"}],
    "channels": [
        {"source": "A", "target": "B"},
        {"source": "B", "target": "C"},
        {"source": "C", "target": "A", "id": "back"},
    ],
    "layout": {"A": [0, 0.5]},
}


@pytest.fixture
def ring(api) -> int:
    return post_json(api, "/api/topologies", RING).json()["id"]


def test_a_topology_comes_back_with_its_defaults_filled_in(api, ring):
    found = api.get(f"/api/topologies/{ring}").json()
    assert [channel["id"] for channel in found["channels"]] == ["A->B", "B->C", "back"]
    assert all(channel["fifo"] for channel in found["channels"])
    assert found["processes"][0]["state"] == {"tokens": 1}
    assert "state" not in found["processes"][1]
    assert found["layout"] == {"A": [0, 0.5]}


def test_a_topology_is_replaced_and_deleted_by_its_owner_only(api, ring):
    stranger = a_client(a_person("bob@example.org"))
    assert post_json(stranger, f"/api/topologies/{ring}", RING, "put").status_code == 404
    assert stranger.delete(f"/api/topologies/{ring}").status_code == 404
    renamed = post_json(api, f"/api/topologies/{ring}", {**RING, "name": "loop"}, "put")
    assert renamed.json()["name"] == "loop"
    assert api.delete(f"/api/topologies/{ring}").status_code == 204
    assert not Topology.objects.exists()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"processes": []}, "processes"),
        ({"processes": "A"}, "processes"),
        ({"processes": ["A", "A"], "channels": []}, "processes[1]"),
        ({"processes": [{"id": ""}], "channels": []}, "processes[0].id"),
        ({"processes": [{"id": "A\n"}, {"id": 7}], "channels": []}, "processes[1].id"),
        ({"processes": [{"id": "A", "state": 2**63}]}, "processes[0].state"),
        ({"channels": [{"source": "A", "target": "Z"}]}, "channels[0].target"),
        ({"channels": [["A", "B"], ["A", "B"]]}, "channels[1].id"),
        ({"channels": [["A", "A"]]}, "channels[0].target"),
        ({"channels": [{"source": "A", "target": "B", "fifo": "yes"}]}, "channels[0].fifo"),
        ({"layout": {"Z": [0, 0]}}, "layout"),
        ({"layout": {"A": [0, 7]}}, "layout.A"),
        ({"name": "  "}, "name"),
    ],
)
def test_an_invalid_topology_is_refused_with_its_field(api, change, field):
    answer = post_json(api, "/api/topologies", RING | change)
    assert answer.status_code == 422, answer.content
    assert answer.json()["field"] == field
    assert not Topology.objects.exists()


READ = {
    "top": "# two banks\n2\nA 10\nB 5\n\nA B\nB A\n",
    "edges": "A -> B\nB -> A\n",
    "both ways": "A <-> B",
    "commas": "A,B\nB,A",
    "json": '{"processes": ["A", "B"], "channels": [["A", "B"], ["B", "A"]]}',
    "a log's header": '{"kind": "header", "format": "cos418-event-log", "processes": '
    '[{"id": "A", "tokens": 10}, {"id": "B", "tokens": 5}], "channels": [["A","B"],["B","A"]]}',
}


@pytest.mark.parametrize("text", READ.values(), ids=READ)
def test_a_topology_is_read_from_common_formats(api, text):
    by_text = api.post("/api/topologies/import", {"text": text, "name": "banks"})
    by_file = api.post("/api/topologies/import", {"file": a_file(text.encode(), "banks.top")})
    for answer in (by_text, by_file):
        assert answer.status_code == 201, answer.content
        found = answer.json()
        assert found["name"] == "banks"
        assert [item["id"] for item in found["processes"]] == ["A", "B"]
        assert {item["id"] for item in found["channels"]} == {"A->B", "B->A"}
    if "10" in text:
        assert found["processes"][0]["state"] == {"tokens": 10}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", None),
        ("3\nA 1\n", 1),
        ("1\nA many\n", 2),
        ("# c\n\nA B C\n", 3),
        ('{"processes":\n[}', 2),
    ],
)
def test_an_invalid_text_is_refused_with_its_line(api, text, line):
    answer = api.post("/api/topologies/import", {"text": text})
    assert answer.status_code == 422
    assert answer.json().get("line") == line


def test_a_file_that_is_not_text_is_refused_with_its_line(api):
    answer = api.post("/api/topologies/import", {"file": a_file(b"A B\nB \xff\n", "x.top")})
    assert (answer.status_code, answer.json()["line"]) == (422, 2)


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"workload": "mining"}, "workload"),
        ({"workload": ["bank"]}, "workload"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**63}, "seed"),
        ({"events": 0}, "events"),
        ({"events": 10**12}, "events"),
        ({"events": 1.5}, "events"),
        ({"events": True}, "events"),
        ({"initiators": ["Z"]}, "initiators[0]"),
        ({"initiators": ["A", {}]}, "initiators[1]"),
        ({"initiators": "A"}, "initiators"),
        ({"snapshot_times": [-5]}, "snapshot_times[0]"),
        ({"snapshot_times": [10, "soon"]}, "snapshot_times[1]"),
        ({"snapshot_times": list(range(1001))}, "snapshot_times"),
        ({"mean_delay": -1}, "mean_delay"),
        ({"drain": "no"}, "drain"),
        ({"algorithm": "paxos"}, "algorithm"),
        ({"algorithm": {}}, "algorithm"),
        ({"algorithm": "lai-yang", "snapshot_times": list(range(51))}, "snapshot_times"),
        ({"collect": 1}, "collect"),
        ({"reorder": "some"}, "reorder"),
        ({"reorder": ["A->B", "A->C"]}, "reorder[1]"),
        ({"stuck": "all"}, "stuck"),
        ({"stuck": [0]}, "stuck[0]"),
        ({"silent": {"A": 1}}, "silent"),
        ({"silent": ["B", "Z"]}, "silent[1]"),
        ({"silent": ["A", "B"], "initiators": ["B"]}, "silent"),
        ({"silent": ["B"], "snapshots": [{"at": 1}, {"at": 2, "initiators": ["B"]}]}, "silent"),
        ({"snapshots": {"at": 1}}, "snapshots"),
        ({"snapshots": [5]}, "snapshots[0]"),
        ({"snapshots": [{"at": 1}, {"initiators": ["A"]}]}, "snapshots[1].at"),
        ({"snapshots": [{"at": 1, "initiators": ["A", "Z"]}]}, "snapshots[0].initiators[1]"),
        ({"snapshots": [{"at": 1, "by": "A"}]}, "snapshots[0].by"),
        ({"snapshots": [{"at": 1}] * 1001}, "snapshots"),
        ({"snapshots": [], "snapshot_times": []}, "snapshots"),
        ({"snapshots": [], "initiators": ["A"]}, "snapshots"),
        ({"weather": 1}, "weather"),
    ],
)
def test_an_invalid_simulation_is_refused_with_its_field(api, ring, parameters, field):
    answer = post_json(api, f"/api/topologies/{ring}/simulate", parameters)
    assert answer.status_code == 422, answer.content
    assert answer.json()["field"] == field
    assert not Recording.objects.exists()


def test_a_simulation_is_a_recording_with_all_its_parameters(api, ring):
    answer = post_json(api, f"/api/topologies/{ring}/simulate", {"workload": "bank", "seed": 7})
    assert answer.status_code == 202
    recording = Recording.objects.get(pk=answer.json()["id"])
    assert recording.topology_id == ring
    assert recording.parameters["seed"] == 7
    assert recording.parameters["initiators"] == ["A"]
    assert len(recording.parameters["snapshot_times"]) == 3
    assert Job.objects.get(pk=answer.json()["job"]).kind == "simulate"


def simulated(**parameters) -> bytes:
    topology = topology_documents.as_domain(topology_documents.checked(RING))
    checked = WorkloadParameters.checked(parameters, topology).stored()
    with uploads.Draft() as draft:
        document = {**checked, "topology": topology_documents.checked(RING)}
        simulations.write(draft, "a run", document, lambda *progress: None)
        draft.file.flush()
        head = recognition.check_head(read_head(draft.path, recording_limits()))
        assert (head.format, head.complete) == ("native", True)
        return gzip.decompress(draft.path.read_bytes())


@pytest.mark.parametrize("workload", ["token-ring", "bank", "random", "idle"])
def test_a_simulated_run_is_a_native_log_with_its_snapshots(workload):
    lines = [orjson.loads(line) for line in simulated(workload=workload, events=200).splitlines()]
    assert lines[0]["name"] == "a run"
    recorded = [event for event in lines[1:] if event["kind"] == "record_state"]
    assert len(recorded) == 9


def test_the_same_seed_gives_the_same_run():
    assert simulated(seed=5) == simulated(seed=5) != simulated(seed=6)


def test_the_initiators_begin_each_snapshot_together():
    times, initiators = [1000, 1000], ["A", "C"]
    lines = simulated(snapshot_times=times, initiators=initiators).splitlines()
    events = [orjson.loads(line) for line in lines[1:]]
    begun = {
        (event["snapshot"], event["process"])
        for event in events
        if event["kind"] == "record_state" and event["at"] == 1000
    }
    assert begun >= {(name, process) for name in ("s1", "s2") for process in initiators}


@pytest.fixture
def run(tmp_path):
    """Simulate a run with these parameters and read its recording back."""

    def run(**parameters):
        header, events, defects = read(source(tmp_path, simulated(**parameters)))
        assert defects == ()
        return assemble(header, events).recording

    return run


def test_each_snapshot_can_have_initiators_of_its_own(run):
    late = {"at": 4000, "initiators": ["C", "B"]}
    reports = judge(run(snapshots=[late, {"at": 1000}], mean_delay=100_000))
    assert [(r.snapshot, r.began_at, r.initiators) for r in reports] == [
        ("s1", 1000, ("A",)),
        ("s2", 4000, ("B", "C")),
    ]


def test_lai_and_yangs_messages_carry_their_colour(run):
    recording = run(algorithm="lai-yang", workload="bank")
    colours = {event.extra for event in recording.events["A"] if event.kind == "send"}
    assert {None, '{"red":["s1"]}', '{"red":["s1","s2"]}'} <= colours
    assert {report.verdict for report in judge(recording)} == {"consistent"}


def test_a_channel_that_reorders_although_it_is_fifo_is_named(tmp_path):
    lines = simulated(workload="bank", reorder="all", mean_delay=50_000)
    header, events, _ = read(source(tmp_path, lines))
    assembly = assemble(header, events)
    assert {defect.code for defect in assembly.defects} == {"fifo-violation"}
    counts = [report.counts for report in judge(assembly.recording)]
    assert any("fifo-violation" in count for count in counts)


def test_collected_pieces_are_in_the_log(run):
    recording = run(collect=True)
    for snapshot in ("s1", "s2", "s3"):
        found = knowledge(recording, snapshot)
        assert [found.missing(process) for process in "ABC"] == [(), (), ()]


def test_a_stuck_marker_or_a_silent_process_leaves_every_snapshot_incomplete(run):
    for options in ({"stuck": ["A->B"]}, {"silent": ["B"]}):
        for report in judge(run(**options)):
            assert report.verdict == "incomplete"
            assert ("B", ("A->B",)) in {(f.process, f.path) for f in report.findings}


def test_every_new_parameter_is_kept_with_the_recording(api, ring):
    asked = {
        "algorithm": "lai-yang",
        "collect": True,
        "reorder": ["back"],
        "stuck": ["A->B", "A->B"],
        "silent": ["C"],
        "snapshots": [{"at": 500, "initiators": ["B", "C"]}],
    }
    answer = post_json(api, f"/api/topologies/{ring}/simulate", asked)
    assert answer.status_code == 202, answer.content
    kept = Recording.objects.get(pk=answer.json()["id"]).parameters
    assert {name: kept[name] for name in asked} == asked | {"stuck": ["A->B"]}
    assert "snapshot_times" not in kept


def test_collecting_too_many_pieces_is_refused():
    names = [f"p{number}" for number in range(40)]
    document = {"processes": names, "channels": [[a, b] for a in names for b in names if a != b]}
    topology = topology_documents.as_domain(topology_documents.checked({"name": "all", **document}))
    times = {"snapshot_times": [1] * 50}
    assert WorkloadParameters.checked(times, topology)
    with pytest.raises(Refused, match="6,240,000 events") as refusal:
        WorkloadParameters.checked({"collect": True, **times}, topology)
    assert refusal.value.members["field"] == "collect"


def test_a_run_requested_before_there_were_algorithms_is_still_simulated():
    topology = topology_documents.checked(RING)
    checked = WorkloadParameters.checked({}, topology_documents.as_domain(topology)).stored()
    later = {"algorithm", "collect", "reorder", "stuck", "silent"}
    old = {name: checked[name] for name in checked.keys() - later}
    with uploads.Draft() as draft:
        simulations.write(draft, "a run", {**old, "topology": topology}, lambda *progress: None)
        draft.file.flush()
        assert gzip.decompress(draft.path.read_bytes()) == simulated()


def test_a_simulation_can_be_cancelled_while_it_runs():
    class Stop(Exception):
        pass

    def stop(*progress):
        raise Stop

    topology = topology_documents.as_domain(topology_documents.checked(RING))
    checked = WorkloadParameters.checked({"events": 1_000_000}, topology).stored()
    document = {**checked, "topology": topology_documents.checked(RING)}
    with uploads.Draft() as draft, pytest.raises(Stop):
        simulations.write(draft, "a run", document, stop)


def test_names_are_checked_where_they_enter():
    with pytest.raises(Refused):
        topology_documents.checked_name("a\x00b")


def test_the_gallery_is_loaded_once_and_again_only_where_it_changed(data_dir, monkeypatch):
    begun, unchanged = gallery.load()
    assert len(begun) == len(gallery.SAMPLES)
    assert Topology.objects.filter(owner=None).count() == len(gallery.TOPOLOGIES)
    assert all(recording.is_sample for recording in Recording.objects.all())
    begun, unchanged = gallery.load()
    assert (begun, len(unchanged)) == ([], len(gallery.SAMPLES))
    Recording.objects.filter(slug="two-banks").update(fingerprint="other")
    [job] = gallery.load()[0]
    assert job.recording.slug == "two-banks"
    assert Recording.objects.count() == len(gallery.SAMPLES)
    running.remove_leftovers()
    assert len(list((data_dir / "uploads").iterdir())) == len(gallery.SAMPLES)
