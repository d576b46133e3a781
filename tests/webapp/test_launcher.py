import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import redis
from django.core.management import call_command

from tests.stack import ROOT, clean_environment
from webapp import embedded_redis, launch, machine
from webapp.accounts.management.commands import sign_in_link
from webapp.accounts.services import get_or_create_user
from webapp.operating import folder_lock

PATIENCE_SECONDS = 60

pytestmark = pytest.mark.slow


class Launched:
    """The launcher of `make run` in a session of its own, as in a terminal."""

    def __init__(self, data_dir: Path, **variables: object):
        self.mark = f"launched-by-{os.getpid()}-{data_dir}"
        self.log = (data_dir.parent / "log").open("w+")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "webapp.launch"],
            cwd=ROOT,
            env=clean_environment()
            | {"DATA_DIR": str(data_dir), "MARK": self.mark}
            | {name: str(value) for name, value in variables.items()},
            stdout=self.log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def said(self) -> str:
        return Path(self.log.name).read_text()

    def wait_to_say(self, pattern: str) -> re.Match:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (found := re.search(pattern, self.said())):
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < deadline, self.said()
            time.sleep(0.1)
        return found

    def left(self) -> list[str]:
        """Return the command lines of the processes that it started and that still run."""
        return [self.command_of(process) for process in self.descendants()]

    def command_of(self, process: psutil.Process) -> str:
        try:
            return " ".join(process.cmdline())
        except psutil.NoSuchProcess:
            return "ended just now"

    def descendants(self) -> list[psutil.Process]:
        return [process for process in psutil.process_iter() if self.is_ours(process)]

    def is_ours(self, process: psutil.Process) -> bool:
        try:
            alive = process.status() != psutil.STATUS_ZOMBIE
            return alive and process.environ().get("MARK") == self.mark
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            return False

    def is_the_first(self, process: psutil.Process) -> bool:
        """Return whether a process is a line's own command, that of uvicorn or Celery, and not its
        child."""
        command, parent = self.command_of(process), process.parent()
        is_command = "uvicorn webapp" in command or "celery --quiet" in command
        return is_command and not (parent and "celery --quiet" in self.command_of(parent))

    def end(self) -> None:
        for process in self.descendants():
            with suppress(psutil.NoSuchProcess):
                process.kill()


@pytest.fixture
def launched(tmp_path):
    everything = []

    def start(**variables):
        everything.append(Launched(tmp_path / "var", **variables))
        return everything[-1]

    yield start
    for each in everything:
        each.end()


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


def test_redis_keeps_its_port_and_its_password_to_itself(tmp_path):
    first = embedded_redis.prepare(tmp_path)
    assert embedded_redis.prepare(tmp_path).url.rpartition(":")[2] == first.url.rpartition(":")[2]
    assert oct(first.config.stat().st_mode)[-3:] == "600"
    assert oct((tmp_path / "url").stat().st_mode)[-3:] == "600"


def version_of(url: str) -> tuple[int, ...]:
    with redis.Redis.from_url(url) as client:
        info = client.info("server")
    version = info.get("valkey_version") or info["redis_version"]
    return tuple(map(int, version.split(".")))


def test_the_embedded_redis_is_a_maintained_version(live_redis):
    assert version_of(live_redis.redis_url) >= (7, 0)


def test_the_systems_server_goes_before_the_one_in_the_packages(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert embedded_redis.find_server().parent != tmp_path
    write_program(tmp_path / "redis-server", "")
    assert embedded_redis.find_server() == tmp_path / "redis-server"
    write_program(tmp_path / "valkey-server", "")
    assert embedded_redis.find_server() == tmp_path / "valkey-server"


def test_what_redis_writes_is_private(launched_with, tmp_path):
    folder = tmp_path / "var" / "redis"
    (folder / "appendonlydir").mkdir(parents=True)
    (folder / "redis.log").touch(mode=0o644)  # of an earlier version
    line = next(line for line in (ROOT / "Procfile").read_text().splitlines() if "redis:" in line)
    run = launched_with(f"{line}\nworker: exec sleep 1000\n")
    run.wait_to_say(r"redis.1 .* started|redis started")
    wait_until_redis_answers(folder)
    for path in (folder, *folder.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    assert any(path.suffix == ".aof" for path in folder.rglob("*"))


def wait_until_redis_answers(folder: Path) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        with suppress(redis.RedisError, FileNotFoundError):
            redis.Redis.from_url((folder / "url").read_text()).set("key", "value")
            return
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_redis_asks_for_the_password(live_redis):
    without = re.sub(r":[^:@/]+@", "", live_redis.redis_url)
    with redis.Redis.from_url(without) as client, pytest.raises(redis.AuthenticationError):
        client.ping()


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


def write_program(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


SUPERVISE = """
import sys
from webapp.supervisor import Supervisor
supervisor = Supervisor()
supervisor.add("once", "echo done once", once=True)
supervisor.add("kept", {kept!r}, once=False)
supervisor.loop()
sys.exit(0 if supervisor.stopped_by_person else 1)
"""


class Supervised(Launched):
    """The supervisor with commands of the test."""

    def __init__(self, folder: Path, kept: str):
        self.mark = f"supervised-by-{os.getpid()}-{folder}"
        self.log = (folder / "log").open("w+")
        self.process = subprocess.Popen(
            [sys.executable, "-c", SUPERVISE.format(kept=kept)],
            cwd=ROOT,
            env=os.environ | {"MARK": self.mark},
            stdout=self.log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


@pytest.fixture
def supervised(tmp_path):
    everything = []

    def start(kept):
        everything.append(Supervised(tmp_path, kept))
        return everything[-1]

    yield start
    for each in everything:
        each.end()


LAUNCH = """
from pathlib import Path
from webapp import launch
launch.PROCFILE = Path({procfile!r})
launch.main()
"""
SLOW_TO_END = "worker: echo begun $$; trap '' TERM; while :; do sleep 0.1; done\n"


class LaunchedWith(Launched):
    """The real launcher with a Procfile of the test."""

    def __init__(self, folder: Path, procfile: str):
        (folder / "Procfile").write_text(procfile)
        self.mark = f"launched-by-{os.getpid()}-{folder}"
        handle, path = tempfile.mkstemp(dir=folder, prefix="log")
        self.log = os.fdopen(handle, "w+")
        self.log_path = Path(path)
        self.process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH.format(procfile=str(folder / "Procfile"))],
            cwd=ROOT,
            env=clean_environment()
            | {
                "DATA_DIR": str(folder / "var"),
                "PORT": str(embedded_redis.free_port()),
                "MARK": self.mark,
            },
            stdout=self.log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def said(self) -> str:
        return self.log_path.read_text()

    def workers(self) -> list[int]:
        """Return the shells of the Procfile's line that run now, of both launchers.

        A shell that starts a program is, for a moment, two processes with the same command.
        """
        shells = [p for p in self.descendants() if "trap" in self.command_of(p)]
        numbers = {shell.pid for shell in shells}
        return [shell.pid for shell in shells if parent_of(shell) not in numbers]

    def keepers(self) -> list[psutil.Process]:
        return [p for p in self.descendants() if p.pid != self.process.pid and is_keeper(p)]


def parent_of(process: psutil.Process) -> int | None:
    with suppress(psutil.NoSuchProcess):
        return process.ppid()
    return None


def is_keeper(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return "webapp import launch" in " ".join(process.cmdline())
    return False


@pytest.fixture
def launched_with(tmp_path):
    everything = []

    def start(procfile):
        everything.append(LaunchedWith(tmp_path, procfile))
        return everything[-1]

    yield start
    for each in everything:
        for process in each.descendants():
            with suppress(psutil.NoSuchProcess):
                process.resume()
        each.end()


def most_workers_until_it_says(run: LaunchedWith, pattern: str) -> int:
    most = 0
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not re.search(pattern, run.said()):
        assert time.monotonic() < deadline, run.said()
        most = max(most, len(run.workers()))
    return max(most, len(run.workers()))


def test_after_a_killed_launcher_the_next_waits_for_its_processes(launched_with):
    first = launched_with(SLOW_TO_END)
    first.wait_to_say(r"begun \d+")
    for keeper in first.keepers():
        keeper.suspend()  # a busy machine: they notice late that their launcher is gone
    first.process.kill()
    second = launched_with(SLOW_TO_END)
    time.sleep(4)
    for keeper in second.keepers():
        keeper.resume()
    assert most_workers_until_it_says(second, r"begun \d+") == 1


def test_processes_do_not_outlive_a_launcher_and_keepers_that_are_killed(launched_with):
    first = launched_with(SLOW_TO_END)
    first.wait_to_say(r"begun \d+")
    first.process.kill()
    for keeper in first.keepers():
        keeper.kill()
    second = launched_with(SLOW_TO_END)
    assert most_workers_until_it_says(second, r"begun \d+") == 1


def test_a_start_names_what_a_killed_launcher_left(launched_with, tmp_path, monkeypatch):
    first = launched_with("worker: setsid sleep 1002 & echo begun $$; wait\n")
    first.wait_to_say(r"begun \d+")
    first.process.kill()
    first.process.wait()
    monkeypatch.setattr(folder_lock, "WAIT_SECONDS", 0)
    with pytest.raises(launch.CannotStart, match=r"have not ended within .*\(pid \d+: "):
        launch.lock_folder(tmp_path / "var")


def test_a_keeper_that_is_killed_stops_everything(supervised):
    run = supervised("echo begun; exec sleep 1000")
    run.wait_to_say("begun")
    for process in run.descendants():
        if process.pid != run.process.pid and "Supervisor" in run.command_of(process):
            process.kill()
    assert run.process.wait(PATIENCE_SECONDS) == 1
    wait_until_nothing_is_left(run)


def wait_until_nothing_is_left(launched: Launched) -> None:
    deadline = time.monotonic() + 15
    while launched.left() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert launched.left() == []


def test_what_is_killed_starts_again(supervised):
    run = supervised("echo begun $$; exec sleep 1000")
    pid = int(run.wait_to_say(r"begun (\d+)")[1])
    os.kill(pid, signal.SIGKILL)
    run.wait_to_say(rf"begun (?!{pid}\b)\d+")
    assert "done once" in run.said()


def test_what_a_killed_process_leaves_ends_before_it_starts_again(supervised):
    run = supervised("sleep 1001 & echo begun $$; exec sleep 1000")
    pid = int(run.wait_to_say(r"begun (\d+)")[1])
    os.kill(pid, signal.SIGKILL)
    run.wait_to_say(rf"begun (?!{pid}\b)\d+")
    assert run.left().count("sleep 1001") == 1


def test_what_started_again_stops_like_the_first(supervised):
    run = supervised("echo begun $$; exec sleep 1000")
    pid = int(run.wait_to_say(r"begun (\d+)")[1])
    os.kill(pid, signal.SIGKILL)
    run.wait_to_say(rf"begun (?!{pid}\b)\d+")
    os.killpg(run.process.pid, signal.SIGINT)
    assert run.process.wait(PATIENCE_SECONDS) == 0
    assert "SIGKILL" not in run.said()


def test_what_cannot_start_stops_everything(supervised):
    run = supervised("echo broken; exit 3")
    assert run.process.wait(PATIENCE_SECONDS) == 1
    assert run.said().count("broken") == 3
    wait_until_nothing_is_left(run)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stop_leaves_nothing(supervised, number):
    run = supervised("sleep 1001 & echo begun; exec sleep 1000")
    run.wait_to_say("begun")
    os.killpg(run.process.pid, number)
    assert run.process.wait(PATIENCE_SECONDS) == 0
    wait_until_nothing_is_left(run)


def test_a_killed_launcher_leaves_nothing(supervised):
    run = supervised("sleep 1001 & echo begun; exec sleep 1000")
    run.wait_to_say("begun")
    run.process.kill()
    wait_until_nothing_is_left(run)


def sign_in_link_of(folder: Path) -> str:
    """Return what the command prints in another shell with this DATA_DIR."""
    ran = subprocess.run(
        [sys.executable, "manage.py", "sign_in_link"],
        cwd=ROOT,
        env=clean_environment() | {"DATA_DIR": str(folder)},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def test_commands_in_other_shells_print_the_port_that_runs(launched_with, tmp_path):
    run = launched_with("worker: echo begun; exec sleep 1000\n")
    run.wait_to_say(r"worker\.?1? .*begun")
    port = json.loads((tmp_path / "var" / "lock").read_text())["port"]
    assert f"http://127.0.0.1:{port}/sign-in/" in sign_in_link_of(tmp_path / "var")
    run.process.kill()
    run.process.wait()
    assert "http://127.0.0.1:8000/sign-in/" in sign_in_link_of(tmp_path / "var")


@pytest.mark.django_db
def test_an_owners_link_is_printed_only_while_nobody_has_signed_in(monkeypatch, capsys, client):
    monkeypatch.setattr(sign_in_link, "wait_for", lambda url: None)
    call_command("sign_in_link", when_up=True)
    first = capsys.readouterr().out
    assert re.fullmatch(r"Cutline is ready\. Sign in: http://\S+/sign-in/\S+\n", first)
    client.force_login(get_or_create_user("ada@example.org"))
    call_command("sign_in_link", when_up=True)
    second = capsys.readouterr().out
    assert "/sign-in/" not in second
    assert second.startswith("Cutline is ready at http://127.0.0.1:")
    assert "manage.py sign_in_link EMAIL" in second
    call_command("sign_in_link")
    assert "/sign-in/" in capsys.readouterr().out


@pytest.mark.spark
def test_a_real_stack_starts_again_right_after_a_kill(launched, tmp_path):
    port = embedded_redis.free_port()
    first = launched(PORT=port)
    first.wait_to_say("Sign in: ")
    before = running(first, tmp_path)
    assert before.keys() == {"web", "worker", "redis"}
    first.process.kill()
    second = launched(PORT=port)
    while "Cutline is ready" not in second.said():
        assert second.process.poll() is None, second.said()
        now = running(second, tmp_path)
        assert all(len(pids) == 1 for pids in now.values()), now
        time.sleep(0.05)
    assert not any(now[name] & before[name] for name in before)


def running(launched: Launched, folder: Path) -> dict[str, set[int]]:
    """Return the first process of each line of the Procfile. Redis hides its environment."""
    pids: dict[str, set[int]] = {}
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if process.cwd() == str(folder / "var" / "redis"):
                pids.setdefault("redis", set()).add(process.pid)
            elif launched.is_ours(process) and launched.is_the_first(process):
                command = " ".join(process.cmdline())
                name = "web" if "uvicorn webapp" in command else "worker"
                pids.setdefault(name, set()).add(process.pid)
    return pids


@pytest.mark.spark
def test_the_whole_starts_signs_in_and_stops(launched):
    run = launched(PORT=embedded_redis.free_port())
    link = run.wait_to_say(r"Sign in: (http://127.0.0.1:\d+/sign-in/\S+)")[1]
    with urllib.request.urlopen(link.replace(link.rpartition("/")[2], "")[:-1]) as page:
        assert "<h1>Sign in</h1>" in page.read().decode()
    os.killpg(run.process.pid, signal.SIGINT)
    assert run.process.wait(PATIENCE_SECONDS) == 0
    wait_until_nothing_is_left(run)
