"""Running banks on the page Live: money moves, a snapshot is judged, and a kill loses nothing."""

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager

import psutil
import pytest
from playwright.sync_api import expect

from snapshots.banks.system import START
from tests.stack import ROOT
from tests.webapp.over_http import Api

NAMES = "ABCDE"
TOTAL = f"{START * len(NAMES):,}"
SOON = 10_000  # ms


@contextmanager
def running_banks(server, *arguments):
    """Run manage.py banks, as somebody in a shell does; end it if the test did not."""
    command = subprocess.Popen(
        [sys.executable, "manage.py", "banks", *arguments],
        cwd=ROOT,
        env=server.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield command
    finally:
        children = psutil.Process(command.pid).children() if command.poll() is None else []
        if command.poll() is None:
            command.send_signal(signal.SIGINT)
        try:
            command.communicate(timeout=60)
        finally:
            command.kill()
        _, alive = psutil.wait_procs(children, 20)
        assert not alive


def number_in(command) -> int:
    """Return the number of the recording that the command has opened."""
    return int(re.search(r"into recording (\d+),", command.stdout.readline())[1])


def money(section) -> list[str]:
    return section.locator("[data-process] [data-show=balance]").all_inner_texts()


def test_banks_run_are_snapshotted_killed_and_restored_on_the_page(server, page):
    page.goto(f"{server.url}/live")
    with running_banks(server, "--rate", "5") as command:
        number = number_in(command)
        section = page.locator(f"[data-system='{number}']")
        rows = section.locator("[data-process]")
        expect(rows.filter(has_text="running since")).to_have_count(len(NAMES), timeout=SOON)
        before = money(section)
        page.wait_for_function(
            "([id, before]) => [...document.querySelectorAll("
            "`[data-system='${id}'] [data-process] [data-show=balance]`)]"
            ".some((each, n) => each.innerText !== before[n])",
            arg=[number, before],
            timeout=SOON,
        )
        section.get_by_role("button", name="Snapshot, begun by C").click()
        first = section.locator("[data-snapshot]").first
        expect(first).to_contain_text("begun by C", timeout=SOON)
        expect(first).to_contain_text(f"= {TOTAL}.")
        expect(first.locator("[data-verdict=consistent]")).to_be_visible(timeout=SOON)
        leads_to = first.get_by_role("link").get_attribute("href")
        assert re.fullmatch(rf"/recordings/{number}\?snapshot=e0-n1-43", leads_to)
        section.get_by_role("button", name="Kill B").click()
        expect(section.locator("[data-process=B]")).to_contain_text("killed since", timeout=SOON)
        expect(rows.filter(has_text="stopped since")).to_have_count(4, timeout=SOON)
        expect(section.get_by_role("button", name="Kill", disabled=True)).to_have_count(5)
        expect(page.locator("#toasts")).to_contain_text("has stopped: The connection")
        section.get_by_role("button", name="Restore all").click()
        expect(rows.filter(has_text="running since")).to_have_count(len(NAMES), timeout=SOON)
        section.get_by_role("button", name="Snapshot, begun by A").click()
        expect(first).to_contain_text("begun by A", timeout=SOON)
        expect(first).to_contain_text(f"= {TOTAL}.")
        expect(first.locator("[data-verdict=consistent]")).to_be_visible(timeout=SOON)
        section.get_by_role("button", name="End and close").click()
        assert command.wait(30) == 0
        expect(section).to_have_count(0, timeout=SOON)
        gone = page.locator("#systems > .note")
        expect(gone).to_contain_text("is not among these systems any more")
        expect(gone.get_by_role("link")).to_have_attribute("href", f"/recordings/{number}")
    assert Api(server).get(f"/recordings/{number}")["status"] != "open"


@pytest.mark.parametrize("ending", ["close", "ctrl-c", "closed elsewhere", "kill -9"])
def test_the_command_ends_with_all_banks_however_it_ends(server, ending):
    with running_banks(server, "--processes", "2") as command:
        number = number_in(command)
        command.stdout.readline()  # what one can type
        command.stdin.write("snapshot B\n")
        command.stdin.flush()
        said = iter(command.stdout.readline, "")
        assert any("is complete: " in line or "Restore them first" in line for line in said)
        banks = psutil.Process(command.pid).children()
        assert len(banks) == 2
        if ending == "close":
            command.stdin.write("close\n")
            command.stdin.flush()
        elif ending == "closed elsewhere":
            Api(server).post(f"/recordings/{number}/close")
            assert any("so the banks have ended" in line for line in said)
        else:
            command.send_signal(signal.SIGINT if ending == "ctrl-c" else signal.SIGKILL)
        assert command.wait(30) == (0 if ending != "kill -9" else -signal.SIGKILL)
        _, alive = psutil.wait_procs(banks, 20)
        assert not alive
    status = Api(server).get(f"/recordings/{number}")["status"]
    assert (status == "open") == (ending == "kill -9")
    if ending == "kill -9":
        Api(server).post(f"/recordings/{number}/close")


def test_states_read_by_wrong_clocks_are_named_beside_the_snapshot(server, page):
    page.goto(f"{server.url}/live")
    with running_banks(server, "--rate", "20", "--skewed") as command:
        section = page.locator(f"[data-system='{number_in(command)}']")
        rows = section.locator("[data-process]")
        expect(rows.filter(has_text="running since")).to_have_count(len(NAMES), timeout=SOON)
        section.get_by_role("button", name="Snapshot, begun by A").click()
        naive = section.locator("[data-snapshot=by-clock-1]")
        expect(naive).to_contain_text("the channels were not recorded", timeout=SOON)
        expect(naive.locator("[data-verdict=orphan]")).to_be_visible(timeout=2 * SOON)
        expect(naive).to_contain_text("before recording its state, but")


def test_without_a_server_one_sentence_says_so(server):
    environment = {**server.environment, "PORT": "1"}
    run = subprocess.run(
        [sys.executable, "manage.py", "banks"],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1
    assert "Does Cutline run there (make run)?" in run.stderr
    assert "Traceback" not in run.stderr
