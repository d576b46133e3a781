"""The archive of Spark's classes, and the command that starts Spark's JVM."""

import os
import subprocess
from pathlib import Path

import pytest

from tasks.spark import classes, jvm, make_classes
from tests.spark.running import processes

JAVA = Path(os.environ.get("JAVA_HOME", "/usr"), "bin", "java")
MAIN = "org.apache.spark.launcher.Main"
SUBMIT = "org.apache.spark.deploy.SparkSubmit"


def test_a_jvm_gets_what_spark_s_own_script_would_give_it(tmp_path):
    home = classes.spark_home()
    built = subprocess.run(
        [JAVA, "-cp", f"{home}/jars/*", MAIN, SUBMIT, "--class", "X", "app.jar"],
        env=os.environ | {"SPARK_HOME": home, "SPARK_SCALA_VERSION": "2.13"},
        capture_output=True,
        text=True,
        check=True,
    )
    words = built.stdout.strip("\n").lstrip("\0\n").split("\0")
    between = words[words.index("-cp") + 2 : words.index(SUBMIT)]
    assert [word for word in between if not word.startswith("-Xm")] == list(jvm.MODULE_OPTIONS)
    ours = jvm.command(JAVA, "local[2]", "1g", tmp_path)
    assert ours[2].split(":") == [part for part in words[2].split(":") if "/jars/" in part]


@pytest.mark.parametrize("variable", sorted(jvm.OPERATORS))
def test_what_an_operator_tells_sparks_script_is_heard(variable, monkeypatch, tmp_path):
    monkeypatch.setenv(variable, "/x")
    assert jvm.command(JAVA, "local[2]", "1g", tmp_path)[0].endswith("/bin/spark-submit")


def test_a_cluster_s_driver_is_started_by_sparks_script(tmp_path):
    assert jvm.command(JAVA, "spark://a:7077", "1g", tmp_path)[0].endswith("/bin/spark-submit")


def test_an_unusual_java_has_no_archive(tmp_path):
    (tmp_path / "bin").mkdir()
    assert classes.path(tmp_path / "bin" / "java") is None


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.long
def test_an_archive_is_made_used_and_ignored_when_it_is_damaged(tmp_path):
    processes.run(__name__, "made_used_damaged", tmp_path / "classes", DATA_DIR=tmp_path)


def made_used_damaged(folder: str) -> None:
    from tasks.spark import session

    classes.FOLDER = Path(folder)
    assert make_classes.make().startswith("Spark's classes were archived")
    [archive] = classes.FOLDER.glob("*.*")
    assert make_classes.make() == "Spark's classes are archived."
    session.warm()
    assert str(archive) in Path(f"/proc/{session._driver.process.pid}/maps").read_text()
    session.stop()
    archive.write_bytes(b"x" * 100)
    assert session.warm().range(3).count() == 3
    assert not any("rchive" in line for line in session._driver._lines), session._driver._lines


def test_one_process_makes_the_archive_and_another_leaves_it_to_that_one(monkeypatch, tmp_path):
    monkeypatch.setattr(classes, "FOLDER", tmp_path)
    monkeypatch.setenv("SPARK_MASTER", "local[1]")
    with make_classes._turn() as is_ours:
        assert is_ours
        assert make_classes.make() == "Another process archives Spark's classes."


def test_a_folder_that_cannot_be_written_stops_nothing(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setattr(classes, "FOLDER", tmp_path / "file")
    assert "were not archived" in make_classes.make()


def test_the_archive_of_another_java_is_not_used(tmp_path, monkeypatch):
    one, two = (tmp_path / name / "bin" / "java" for name in ("one", "two"))
    for java in (one, two):
        modules = java.parents[1] / "lib" / "modules"
        modules.parent.mkdir(parents=True)
        modules.write_text(f"{java}")
    monkeypatch.setattr(classes, "FOLDER", tmp_path)
    classes.path(one).touch()
    assert classes.options(one)
    assert not classes.options(two)
