"""`manage.py simulate`: from a stored topology or a file to a queued run."""

import pytest
from django.core.management import CommandError, call_command

from snapshots.models import Job, Recording, Topology
from snapshots.services import gallery

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture(autouse=True)
def worker_that_answers(monkeypatch):
    """Pretend that a worker answers; the tests of the stack run such a job to its end."""
    monkeypatch.setattr("snapshots.management.commands.simulate.workers_answer", lambda: True)


def simulate(*arguments: str) -> Recording:
    call_command("simulate", *arguments)
    job = Job.objects.get()
    assert (job.kind, job.state) == (Job.Kind.SIMULATE, Job.State.QUEUED)
    return job.recording


def test_a_sample_topology_by_its_name_with_parameters():
    gallery.load()
    Job.objects.all().delete()
    recording = simulate("ring-of-five", "workload=token-ring", "seed=7", "initiators=p1,p3")
    asked = recording.parameters
    assert (asked["workload"], asked["seed"]) == ("token-ring", 7)
    assert asked["initiators"] == ["p1", "p3"]


def test_a_dataflow_under_another_protocol():
    gallery.load()
    Job.objects.all().delete()
    batches = ("batches.interval=5000", "batches.cores=2")
    asked = simulate("word-count", "protocol=spark", *batches).parameters
    assert (asked["batches"]["interval"], asked["batches"]["cores"]) == (5000, 2)
    Job.objects.all().delete()
    start = ("start_from.at=9000", 'start_from.parallelism={"count": 3}')
    asked = simulate("word-count", "protocol=seatunnel", *start).parameters
    assert asked["start_from"] == {"at": 9000, "parallelism": {"count": 3}}


def test_a_file_is_stored_as_a_topology(tmp_path):
    (tmp_path / "net.txt").write_text("A <-> B\n")
    recording = simulate(str(tmp_path / "net.txt"), "snapshot_times=20000,40000")
    assert recording.parameters["snapshot_times"] == [20000, 40000]
    assert Topology.objects.get().name == "net"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.top"], "no topology or file 'nowhere.top'"),
        (["NET", "seed"], "'seed' is not PARAMETER=VALUE"),
        (["NET", "seed=-1"], "seed: seed is a whole number"),
        (["NET", "initiators=A,Z"], "initiators[1]: 'Z' is not a process"),
        (["NET", "sed=1"], "sed: There is no parameter 'sed'"),
    ],
)
def test_a_wrong_command_line_is_explained_in_one_line_and_nothing_runs(tmp_path, arguments, said):
    (tmp_path / "net.txt").write_text("A <-> B\n")
    arguments = [str(tmp_path / "net.txt") if word == "NET" else word for word in arguments]
    with pytest.raises(CommandError, match=said.replace("[", r"\[")):
        call_command("simulate", *arguments)
    assert not Job.objects.exists()
