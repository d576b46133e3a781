"""What `make run` says in one sentence when it cannot start."""

import os
import socket
import subprocess
from pathlib import Path

import pytest

from tests.stack import ROOT
from tests.webapp.launched import PATIENCE_SECONDS, Launched, write_program
from webapp import embedded_redis, launch, machine

pytestmark = pytest.mark.slow


def sentence_of(launched: Launched) -> str:
    assert launched.process.wait(PATIENCE_SECONDS) == 1
    return launched.said().strip()


def test_a_taken_port_is_one_sentence(launched):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        sentence = sentence_of(launched(PORT=port))
        assert sentence.startswith(f"Port {port} on 127.0.0.1 is taken (pid {os.getpid()}: ")
        assert sentence.endswith(f"): choose another with make run PORT={port + 1}.")
        assert "\n" not in sentence


def test_a_wrong_port_is_one_sentence(launched):
    assert sentence_of(launched(PORT="http")) == "PORT='http' is not a whole number."


def test_data_in_use_are_one_sentence(launched, tmp_path):
    (tmp_path / "var").mkdir()
    with launch.lock_folder(tmp_path / "var"):
        said = sentence_of(launched(PORT=embedded_redis.free_port()))
    assert said.startswith(
        f"Another Cutline runs with the data in {tmp_path}/var (pid {os.getpid()}"
    )
    assert "\n" not in said


def test_a_redis_that_does_not_answer_is_one_sentence(launched):
    said = sentence_of(launched(PORT=embedded_redis.free_port(), REDIS_URL="redis://127.0.0.1:1/0"))
    assert said.startswith("Redis does not answer at REDIS_URL: ")
    assert said.count("\n") == 0


def test_a_missing_java_is_one_sentence(monkeypatch):
    monkeypatch.setattr(machine, "find_java", lambda: None)
    monkeypatch.setattr(machine, "may_install", lambda: False)
    with pytest.raises(machine.Missing, match=r"^Spark needs Java 17, which is missing: install"):
        machine.ensure_java()


def test_an_old_java_does_not_count(monkeypatch, tmp_path):
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    java.chmod(0o755)
    assert machine.java_version(java) == 11
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert machine.find_java() != tmp_path


def test_a_missing_postgres_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "POSTGRES", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(machine.Missing, match=r"missing: install it \(Debian.*install postgresql"):
        machine.ensure_postgres()


def test_the_newest_postgres_is_taken(monkeypatch, tmp_path):
    for version in ("9.6", "15", "17"):
        programs = tmp_path / version / "bin"
        programs.mkdir(parents=True)
        (programs / "postgres").touch()
    monkeypatch.setattr(machine, "POSTGRES", tmp_path)
    monkeypatch.setenv("PATH", "")
    assert machine.find_postgres() == tmp_path / "17" / "bin"


def test_java_is_installed_where_that_is_allowed(monkeypatch):
    installed = []
    monkeypatch.setattr(machine, "find_java", lambda: Path("/java") if len(installed) > 1 else None)
    monkeypatch.setattr(machine, "may_install", lambda: True)
    monkeypatch.setattr(machine, "apt_install", lambda package: installed.append(package) or True)
    assert machine.ensure_java() == Path("/java")
    assert installed == machine.JAVA_PACKAGES


@pytest.mark.parametrize(
    ("python", "sentence"),
    [
        ("exit 1", "Cutline needs Python 3.11 or newer"),
        ('case "$2" in *ensurepip*) exit 1;; esac', "Python's venv module is missing"),
    ],
)
def test_a_wrong_python_is_one_sentence(tmp_path, python, sentence):
    (tmp_path / "webapp").mkdir()
    (tmp_path / "webapp" / "venv.sh").write_bytes((ROOT / "webapp" / "venv.sh").read_bytes())
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("python3", "python3.11", "python3.12", "python3.13", "python3.14"):
        write_program(programs / name, python)
    write_program(programs / "id", "echo 1000")
    ran = subprocess.run(
        ["bash", tmp_path / "webapp" / "venv.sh", "requirements.txt"],
        env={"PATH": f"{programs}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 1
    assert ran.stderr.startswith(sentence)
    assert ran.stderr.count("\n") == 1
