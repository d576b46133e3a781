"""Every measurement of ``bench`` runs to its end, at a small size.

What needs a server or a browser is in ``tests/browser/test_bench.py``.
"""

import os
import subprocess
import sys

import pytest

from bench import __main__ as bench
from bench import (
    full_account,
    idle,
    jobs,
    large_log,
    lists,
    performance_plot,
    playing,
    recording_calls,
    reviews,
    server,
    shapes,
    shrinking,
    simulator,
)
from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.model.defects import Defects
from snapshots.readers.formats.limits import Limits
from snapshots.readers.logs.columns import logged_events
from snapshots.readers.logs.native_parquet import ParquetReader
from tests.stack import ROOT

pytestmark = pytest.mark.slow

HERE = {
    "bench.full_account",
    "bench.idle",
    "bench.jobs",
    "bench.lists",
    "bench.objects",
    "bench.playing",
    "bench.recording_calls",
    "bench.reviews",
    "bench.schedule",
    "bench.shapes",
    "bench.shrinking",
    "bench.simulator",
    "bench.store",
}
IN_THE_BROWSER = {
    "bench.server",
    "bench.fairness",
    "bench.archive",
    "bench.opened",
    "bench.together",
    "bench.open_recordings",
    "bench.weights",
}
WITH_SPARK = {  # and a word of what each prints last
    jobs: "memory of this process",
    simulator: "reference",
}
HELPERS = {  # of the measurements
    "in_memory",
    "large_log",
    "performance_plot",
    "browser",
    "recordings",
    "synthetic_archive",
    "synthetic_store",
    "tasks",
}
ELSEWHERE = {  # with a Python that has apache-flink or rerun-sdk, or for minutes
    "beside_rerun",
    "flink_sql_jobs",
    "flink_sql_table",
    "real_flink_job",
    "real_restarts",
    "real_spark_restarts",
    "real_upgrades",
    "restart_cases",
    "restart_queries",
    "upgrade_cases",
    "upgrade_jobs",
}


def test_the_picture_of_the_performance_shows_the_table_of_its_page():
    found = performance_plot.jobs(performance_plot.PAGE.read_text())
    assert performance_plot.PICTURE.read_text() == performance_plot.picture(found)


def test_a_large_log_has_no_defect_and_all_its_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(large_log, "ROWS", 4_000)
    monkeypatch.setattr(large_log, "DELAY", 300)
    large_log.write_parts(tmp_path, 10_000)
    reader, limits, defects = ParquetReader(), Limits(), Defects()
    header = reader.header(tmp_path, limits)
    log = logged_events(reader.batches(tmp_path, header, limits, defects), header)
    assembled = assemble(header, log)
    assert len(list(tmp_path.iterdir())) == 3
    assert defects.total == assembled.defects_total == 0
    assert sum(map(len, assembled.recording.events.values())) == pytest.approx(10_000, rel=0.1)


@pytest.mark.parametrize("module", WITH_SPARK, ids=lambda module: module.__name__)
def test_a_measurement_of_spark_runs_to_its_end(spark, module, monkeypatch, capsys):
    monkeypatch.setattr(jobs, "ROUNDS", 1)
    monkeypatch.setattr(module.session, "stop", lambda: None)  # other tests need it
    monkeypatch.setattr(sys, "argv", ["bench", "2000"])
    module.main()
    assert WITH_SPARK[module] in capsys.readouterr().out


@pytest.mark.long
def test_the_measurement_of_the_store_runs_to_its_end():
    command = [sys.executable, "-m", "bench.store", "2000", "4e3"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    assert "p95 at 4e+03 / p95 at 2e+03" in answer.stdout


def test_the_measurement_of_an_object_store_runs_to_its_end():
    words = [sys.executable, "-m", "bench.objects", "20000"]
    told = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "the same on disk" in told


@pytest.mark.django_db
@pytest.mark.usefixtures("data_dir")
def test_the_measurement_of_a_review_runs_to_its_end(capsys):
    reviews.measure(20)
    assert "20 entries, 30 people, 100 rows over the API:" in capsys.readouterr().out


@pytest.mark.django_db
@pytest.mark.usefixtures("data_dir")
def test_the_measurement_of_a_full_account_runs_to_its_end(capsys):
    full_account.measure(10)
    printed = capsys.readouterr().out
    assert "10 recordings in one account" in printed
    assert "the hourly sweep" in printed


@pytest.mark.django_db
@pytest.mark.usefixtures("data_dir")
def test_the_measurement_of_lists_runs_to_its_end(capsys):
    lists.measure(10)
    printed = capsys.readouterr().out
    assert "10 snapshots of 10 processes" in printed
    assert "10,000 messages in flight" in printed
    assert printed.count("judging") == 4


def test_the_measurement_of_shapes_runs_to_its_end(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bench", "4e3"])
    shapes.main()
    printed = capsys.readouterr().out
    assert all(f"\n{words}\n" in printed for words in shapes.SHAPES)
    assert printed.count("(hold 2.2)") == shapes.HALVINGS * len(shapes.SHAPES)


def test_the_measurement_of_shrinking_runs_to_its_end(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bench", "4e3"])
    shrinking.main()
    assert "4e+03 events, positions of a cut" in capsys.readouterr().out


def test_the_measurement_of_the_recorder_runs_to_its_end(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bench", "1000"])
    recording_calls.main()
    assert "lost: 0" in capsys.readouterr().out


@pytest.mark.spark
@pytest.mark.long
def test_the_measurement_of_an_idle_system_runs_to_its_end(tmp_path, capsys):
    idle.measure(tmp_path, 0)
    printed = capsys.readouterr().out
    assert "Spark is warm after the worker's start" in printed
    groups = {line.split(",")[0] for line in printed.splitlines() if ", processes:" in line}
    assert groups >= set(idle.GROUPS.values())  # and what loads the samples


def test_the_measurement_of_playing_runs_to_its_end(capsys):
    playing.main(20_000)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0].rsplit(" ")[-1] for line in lines] == ["players"] * 4
    assert all("of a core" in line and " computed" in line for line in lines)


def test_make_bench_runs_every_measurement():
    rows = (*bench.MEASUREMENTS, *bench.OF_THEIR_OWN_SIZE)
    assert {row[1] for row in rows} == HERE | IN_THE_BROWSER


def test_every_module_of_bench_is_run_or_used_by_a_test():
    modules = {path.stem for path in (ROOT / "bench").glob("*.py")} - {"__main__"}
    measured = {name.removeprefix("bench.") for name in HERE | IN_THE_BROWSER}
    assert modules == measured | HELPERS | ELSEWHERE


def test_a_log_larger_than_the_default_limit_is_let_in(tmp_path):
    log = tmp_path / "large.jsonl"
    log.touch()
    os.truncate(log, 3 * 2**30)  # a hole: takes no room
    assert {int(most) for most in server.room_for(log).values()} == {3 * 2**30}


def test_an_upload_is_sent_in_pieces(tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_bytes(b"x" * (2**20 + 7))
    pieces = list(server._pieces(b"head", log, b"tail"))
    assert b"".join(pieces) == b"head" + log.read_bytes() + b"tail"
    assert max(map(len, pieces)) <= 2**20
