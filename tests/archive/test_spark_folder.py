"""The folder of a Spark query is followed as it grows, and nothing beside it is read."""

import json
import os
import shutil
import time
import zipfile
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from snapshots.archive import collecting, columns, spark, watching
from snapshots.archive.addresses import Forbidden, NotAnAddress
from snapshots.archive.folders import checked_folder, require_below
from snapshots.models import Collector, EngineJob
from snapshots.readers.engines.spark_streaming import following
from tests.web.given import a_client, post_json, signed_in, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
BEGAN = 1_795_000_000_000  # epoch ms
INTERVAL = 2_000
QUERY = "11111111-2222-3333-4444-555555555555"


@pytest.fixture(autouse=True)
def nothing_kept():
    columns.forget_all()


class Folder:
    """A checkpoint folder that grows as Spark lets it grow, 100 batches long."""

    def __init__(self, path: Path, query: str = QUERY, began: int = BEGAN) -> None:
        self.path, self.began, self.next = path, began, 0
        for name in ("offsets", "commits", "state"):
            (path / name).mkdir(parents=True)
        self.name_query(query)

    def name_query(self, query: str) -> None:
        (self.path / "metadata").write_text(json.dumps({"id": query}))

    def plan(self) -> Path:
        at = self.began + self.next * INTERVAL
        head = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": at, "conf": {}})
        path = self.path / "offsets" / str(self.next)
        path.write_text(f"v1\n{head}\n{self.next}")
        return path

    def commit(self) -> Path:
        path = self.path / "commits" / str(self.next)
        path.write_text('v1\n{"nextBatchWatermarkMs":0}')
        at = (self.began + self.next * INTERVAL + 700) / 1000
        os.utime(path, (at, at))
        self.next += 1
        for log in ("offsets", "commits"):
            (self.path / log / str(self.next - 101)).unlink(missing_ok=True)
        return path

    def run(self, batches: int) -> None:
        for _ in range(batches):
            self.plan()
            self.commit()


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path / "orders")


def statuses(job: EngineJob) -> dict[int, str]:
    return dict(job.checkpoints.values_list("number", "status"))


def followed(ada, folder: Folder) -> list[str]:
    return spark.poll(ada, str(folder.path)).problems


def test_a_folder_that_grows_and_is_purged_is_followed_without_gaps(ada, folder):
    for step in (1, 5, 0, 90, 90):
        folder.run(step)
        assert followed(ada, folder) == []
    job = EngineJob.objects.get()
    assert (job.engine, job.key, job.state) == ("spark", QUERY, "")
    assert statuses(job) == dict.fromkeys(range(186), "completed")
    first = job.checkpoints.get(number=0)
    assert (first.triggered_at, first.duration) == (BEGAN, 700)
    assert job.usual_interval == INTERVAL


def test_a_batch_that_runs_is_in_progress_until_its_commit(ada, folder):
    folder.run(2)
    folder.plan()
    followed(ada, folder)
    assert statuses(EngineJob.objects.get())[2] == "in progress"
    folder.commit()
    followed(ada, folder)
    assert statuses(EngineJob.objects.get())[2] == "completed"


@pytest.mark.parametrize("cut", ["", "v1", "v1\n{", "v9\n{}", "\x00"])
def test_a_file_that_is_cut_short_is_read_again_at_the_next_look(ada, folder, cut):
    folder.run(2)
    path = folder.plan()
    whole = path.read_text()
    path.write_text(cut)
    (problem,) = followed(ada, folder)
    assert problem.startswith("offsets/2")
    assert statuses(EngineJob.objects.get()) == {0: "completed", 1: "completed"}
    path.write_text(whole)
    folder.commit().write_text("v1")
    (problem,) = followed(ada, folder)
    assert problem.startswith("commits/2")
    (folder.path / "commits" / "2").write_text('v1\n{"nextBatchWatermarkMs":0}')
    assert followed(ada, folder) == []
    assert statuses(EngineJob.objects.get())[2] == "completed"


def test_what_spark_removes_while_the_folder_is_read_is_no_problem(folder):
    folder.run(30)

    def purge(_: str) -> set[int]:
        """Remove old files as Spark does, after the folder was listed."""
        for batch in range(5):
            (folder.path / "offsets" / str(batch)).unlink()
        (folder.path / "commits" / "5").unlink()
        return set()

    looked = following.look(folder.path, "", purge)
    assert looked.problems == ()
    assert sorted(facts.number for facts in looked.checkpoints) == list(range(6, 30))


def test_files_that_spark_has_not_finished_are_no_batches(ada, folder):
    folder.run(2)
    for name in (".2.6f1c2b0e-5b1d-4f7e-9d0f-2f9f0c1d2e3f.tmp", ".1.crc", "2.tmp", "02"):
        (folder.path / "offsets" / name).write_text("v1\n{")
    assert followed(ada, folder) == []
    assert statuses(EngineJob.objects.get()) == {0: "completed", 1: "completed"}


def test_a_folder_with_more_than_a_look_reads_is_read_in_several(ada, folder, monkeypatch):
    monkeypatch.setattr(following, "MOST_BATCHES", 40)
    folder.run(100)
    for known in (40, 60, 80, 100, 100):  # each look reads the newest 20 again
        assert followed(ada, folder) == []
        assert min(statuses(EngineJob.objects.get())) == 100 - known
    monkeypatch.setattr(following, "MOST_NAMES", 50)
    (problem,) = followed(ada, folder)
    assert problem.endswith("is not followed. Its folder “offsets” has more than 50 files.")


def test_how_a_batch_ended_that_is_no_longer_in_the_folder_is_not_known(ada, folder):
    folder.run(2)
    planned = folder.plan()
    followed(ada, folder)
    planned.unlink()
    followed(ada, folder)
    assert statuses(EngineJob.objects.get())[2] == "unknown"


def test_a_folder_that_is_removed_is_a_problem_and_keeps_what_is_there(ada, folder):
    folder.run(3)
    followed(ada, folder)
    shutil.rmtree(folder.path)
    (problem,) = followed(ada, folder)
    assert problem.endswith("Its file “metadata” cannot be read. It is not there.")
    assert len(statuses(EngineJob.objects.get())) == 3


def test_a_query_that_goes_back_to_an_older_offset_has_another_run(ada, folder):
    folder.run(60)
    followed(ada, folder)
    for log in ("offsets", "commits"):
        for batch in range(30, 60):
            (folder.path / log / str(batch)).unlink()
    folder.next, folder.began = 30, folder.began + 7_000_000
    folder.run(25)  # more than are read again
    for _ in range(2):
        assert followed(ada, folder) == []
    first, second = EngineJob.objects.order_by("run")
    assert sorted(statuses(first)) == list(range(60))
    assert set(statuses(second)) >= set(range(30, 55))
    later = second.checkpoints.get(number=30).triggered_at
    assert later - first.checkpoints.get(number=30).triggered_at == 7_000_000


def test_a_folder_that_was_put_back_has_a_run_of_its_own(ada, folder):
    folder.run(30)
    followed(ada, folder)
    shutil.rmtree(folder.path)
    again = Folder(folder.path, began=BEGAN + 1_000_000)
    again.run(5)
    followed(ada, again)
    assert [len(statuses(job)) for job in EngineJob.objects.order_by("run")] == [30, 5]


def test_another_query_in_the_same_folder_is_another_job_with_all_its_batches(ada, folder):
    folder.run(60)
    followed(ada, folder)
    shutil.rmtree(folder.path)
    other = Folder(folder.path, query="other", began=BEGAN + 1_000_000)
    other.run(50)
    followed(ada, other)
    assert len(statuses(EngineJob.objects.get(key="other"))) == 50


@pytest.mark.parametrize(
    ("case", "count"), [("window-agg-hdfs", 12), ("continuous-rate-to-memory", None)]
)
def test_the_folder_of_a_real_query_is_read(ada, shared_data, tmp_path, case, count):
    with zipfile.ZipFile(shared_data / "spark-streaming" / f"{case}.zip") as package:
        package.extractall(tmp_path)
    (metadata,) = tmp_path.rglob("checkpoint/metadata")
    assert spark.poll(ada, str(metadata.parent)).problems == []
    job = EngineJob.objects.get()
    assert job.key == json.loads(metadata.read_text())["id"]
    commits = [path for path in (metadata.parent / "commits").iterdir() if path.name.isdigit()]
    assert list(statuses(job).values()).count("completed") == len(commits)
    assert count in (None, len(commits))


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"id": 7}', '{"id": ""}'])
def test_a_folder_that_names_no_query_is_refused_and_leaves_nothing(ada, folder, text):
    (folder.path / "metadata").unlink()
    if text is not None:
        (folder.path / "metadata").write_text(text)
    (problem,) = followed(ada, folder)
    assert problem.startswith(f"{folder.path} is not followed. Its file “metadata” ")
    assert not EngineJob.objects.exists()


def test_whether_the_query_runs_is_said_to_be_not_known(ada, folder):
    folder.began = round(time.time() * 1000) - 20 * INTERVAL
    folder.run(20)
    followed(ada, folder)
    assert watching.stall_of(EngineJob.objects.get()).status == "well"
    folder.path.joinpath("metadata").touch()
    EngineJob.objects.update(engine_clock=folder.began + 10 * 60_000)
    stall = watching.stall_of(EngineJob.objects.get())
    assert stall.status == "not known"
    assert "nothing tells whether it runs" in stall.sentence


# --- which folders ----------------------------------------------------------------------------


def test_links_below_the_listed_folder_are_not_followed(ada, tmp_path, settings):
    secret = Folder(tmp_path / "secret" / "orders")
    secret.run(2)
    listed = tmp_path / "listed"
    own = Folder(listed / "own")
    own.run(1)
    (listed / "link").symlink_to(secret.path)
    (listed / "up").symlink_to(tmp_path / "secret")
    settings.COLLECTOR_FOLDERS = [str(listed)]
    for path in (listed / "link", listed / "up" / "orders", tmp_path / "secret" / "orders"):
        with pytest.raises(Forbidden):
            require_below(str(path))
    assert require_below(str(listed / "own")) == (listed, "own")
    row = Collector.objects.create(owner=ada, engine="spark", url=str(listed / "own"))
    for log in ("offsets", "commits"):
        shutil.rmtree(own.path / log)
        (own.path / log).symlink_to(secret.path / log)
    (problem,) = spark.poll(ada, row.url, collector=row).problems
    assert "cannot be read" in problem
    for log in ("offsets", "commits"):
        (own.path / log).unlink()
        (own.path / log).mkdir()
        (own.path / log / "0").symlink_to(secret.path / log / "0")
    (problem,) = spark.poll(ada, row.url, collector=row).problems
    assert "offsets/0" in problem
    (own.path / "metadata").unlink()
    (own.path / "metadata").symlink_to(secret.path / "metadata")
    (problem,) = spark.poll(ada, row.url, collector=row).problems
    assert "is not followed" in problem
    assert not EngineJob.objects.filter(checkpoints__isnull=False).exists()


def test_a_pipe_in_place_of_a_file_holds_nobody_up(ada, folder):
    folder.run(1)
    (folder.path / "commits" / "0").unlink()
    os.mkfifo(folder.path / "commits" / "0")
    (problem,) = followed(ada, folder)
    assert problem.startswith("commits/0")


@pytest.mark.parametrize(
    "text", ["", "orders", "//host/share", "/a/../b", "/a\n", "/" + "a" * 400, "http://a"]
)
def test_a_path_that_is_none_is_refused(text):
    if text != "/a\n":
        with pytest.raises(NotAnAddress):
            checked_folder(text)
    else:
        assert checked_folder(text) == "/a"


def test_people_may_name_listed_folders_alone(ada, folder, settings):
    api = a_client(ada)

    def asked(path: object, **fields) -> int:
        document = {"engine": "spark", "url": str(path)} | fields
        return post_json(api, "/api/collectors", document).status_code

    assert asked(folder.path) == 422
    settings.COLLECTOR_FOLDERS = [f"{folder.path.parent}/"]
    assert asked(f"{folder.path}/") == 201
    assert asked(folder.path) == 409
    for path in ("/etc", f"{folder.path.parent}x", f"{folder.path}/../..", "file:///etc", ""):
        assert asked(path) == 422, path
    assert asked(folder.path, job_key="a" * 32) == 422
    folder.run(3)
    row = Collector.objects.get()
    collecting.collect(row)
    row.refresh_from_db()
    assert row.last_error == ""
    assert len(statuses(EngineJob.objects.get())) == 3
    settings.COLLECTOR_FOLDERS = []
    collecting.collect(row)
    row.refresh_from_db()
    assert "COLLECTOR_FOLDERS" in row.last_error
    assert str(folder.path) in text_of(signed_in(ada).get("/archive"))


def test_the_command_follows_any_folder(folder, capsys):
    folder.run(3)
    call_command("collect", "spark", str(folder.path), "--once")
    assert "3 more checkpoints of 1 job" in capsys.readouterr().out
    with pytest.raises(CommandError, match="begins with one slash"):
        call_command("collect", "spark", "orders", "--once")
