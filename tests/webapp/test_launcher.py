"""`make run` from start to end: the link to sign in, the port, a real stack."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from django.core.management import call_command

from tests.stack import ROOT, clean_environment
from tests.webapp.launched import PATIENCE_SECONDS, Launched, wait_until_nothing_is_left
from webapp import embedded_redis
from webapp.accounts.management.commands import sign_in_link
from webapp.accounts.services import get_or_create_user

pytestmark = pytest.mark.slow


def sign_in_link_of(folder: Path) -> str:
    """Return what the command prints in another shell, with this DATA_DIR."""
    ran = subprocess.run(
        [sys.executable, "manage.py", "sign_in_link"],
        cwd=ROOT,
        env=clean_environment() | {"DATA_DIR": str(folder)},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


@pytest.mark.long
def test_commands_in_other_shells_print_the_port_that_runs(launched_with, tmp_path):
    run = launched_with("worker: echo begun; exec sleep 1000\n")
    run.wait_to_say(r"worker\.?1? .*begun")
    port = json.loads((tmp_path / "var" / "lock").read_text())["port"]
    assert f"http://127.0.0.1:{port}/sign-in/" in sign_in_link_of(tmp_path / "var")
    run.process.kill()
    run.process.wait()
    assert "http://127.0.0.1:8000/sign-in/" in sign_in_link_of(tmp_path / "var")


def test_no_redis_is_started_beside_that_of_redis_url(launched_with, live_redis):
    run = launched_with(
        "redis: echo begun; exec sleep 1000\nweb: sleep 2; echo begun; exec sleep 1000\n",
        REDIS_URL=live_redis.redis_url,
        REDIS_SERVER="another.example",  # a variable of the shell, for some other program
    )
    run.wait_to_say(r"web\.?1? .*begun")
    assert "redis" not in run.said()


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
@pytest.mark.long
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
    """The first processes of each line of the Procfile; Redis hides its environment."""
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
