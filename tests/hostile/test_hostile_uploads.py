"""Hostile uploads of every format: refused or read, in a sentence, within limits, nothing left.

A few by default. `HOSTILE_UPLOADS=10000` runs as many of each format, for hours; python -m
tests.hostile.driving does the same and prints a table.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile import driving, faults, running
from tests.hostile.seeds import FORMATS
from tests.stack import ROOT

COUNT = int(os.environ.get("HOSTILE_UPLOADS", "12"))  # of each format
pytestmark = pytest.mark.slow


def test_hostile_uploads(shared_data, tmp_path, monkeypatch):
    """Every hostile upload is refused or described. One process takes all: it starts slowly."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    total = driving.run(",".join(FORMATS), COUNT * len(FORMATS), options=("--whole", "5"))
    assert not total.wrong, "\n".join(total.wrong)
    assert total.cases == COUNT * len(FORMATS)
    assert total.kinds.keys() == set(faults.KINDS)
    assert min(total.outcomes[outcome] for outcome in driving.OUTCOMES) >= COUNT // 5
    assert not any(tmp_path.iterdir())


@pytest.mark.long
@pytest.mark.spark
def test_hostile_uploads_with_spark(shared_data):
    """All the way through the real Spark."""
    total = driving.run("spark-streaming", max(5, COUNT // 10), options=("--spark",))
    assert not total.wrong, "\n".join(total.wrong)


def test_a_case_is_the_same_every_time():
    for format in FORMATS:
        assert faults.case(format, 7) == faults.case(format, 7)


def test_every_kind_of_fault_is_among_the_cases_of_every_format():
    for format in FORMATS:
        kinds = {faults.kind_of(format, number) for number in range(3000)}
        assert kinds == set(faults.KINDS)


@pytest.mark.long
def test_a_process_that_dies_is_noticed_and_the_cases_behind_it_are_taken(shared_data):
    total = driving.run("native", 4, options=("--dies-at", "2"))
    assert total.wrong == ["native 2: the process ended with 9"]
    assert total.cases == 3


@pytest.mark.parametrize(
    "sentence",
    [
        "Traceback (most recent call last):",
        "KeyError: 7.",
        "It cannot be read: [Errno 22] Invalid argument.",
        f"There is no file {ROOT}/var/uploads/1.",
        "org.apache.spark.SparkException: failed.",
        "it ends somewhere",
    ],
)
def test_what_is_no_plain_sentence_is_noticed(sentence):
    assert running.faults_of_sentence(sentence, Path("/nowhere"))
    assert not running.faults_of_sentence("The file is empty: it holds no event.", ROOT)


def test_writing_elsewhere_is_noticed(tmp_path):
    """In a process of its own: the hook that watches stays for ever."""
    code = """if True:
        import os, sys
        from pathlib import Path
        from tests.hostile.running import Watch
        inside, outside = map(Path, sys.argv[1:])
        watch = Watch([inside])
        (inside / "a").write_text("x")
        assert not watch.outside
        (outside / "a").write_text("x")
        (outside / "b").mkdir()
        os.rename(inside / "a", outside / "c")
        os.symlink("/", outside / "d")
        os.link(outside / "a", outside / "e")
        assert [Path(path).name for path in watch.outside] == list("abcde"), watch.outside
    """
    folders = [tmp_path / "inside", tmp_path / "outside"]
    for folder in folders:
        folder.mkdir()
    subprocess.run([sys.executable, "-c", code, *map(str, folders)], cwd=ROOT, check=True)
