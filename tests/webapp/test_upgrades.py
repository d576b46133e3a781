"""An upgrade is: stop, install the new code, `make run`. The data of earlier versions open."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
import zipfile
from collections import Counter
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, OpenerDirector, Request, build_opener

import pytest

from tests.campaign import database as servers
from tests.stack import ROOT, clean_environment
from tests.webapp.launched import PATIENCE_SECONDS, wait_until_nothing_is_left
from webapp import embedded_redis

pytestmark = pytest.mark.slow

OWNER = "owner@localhost"
FIRST = ROOT / "tests/data/upgrades/0.1.0-first.zip"
ADDRESS = re.compile(r'(?:href|data-url)="(/[^"#]*)')
OF_A_KIND = 1  # addresses that differ in their numbers alone
STEPS = """
import django
django.setup()
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from snapshots.files import starting
executor, state = MigrationExecutor(connection), None
plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
for step in plan:
    starting.require_before_migrating()
    state = executor.migrate([], plan=[step], state=state)
starting.require_all()
print(len(plan))
"""


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_tables_of_every_earlier_state_are_looked_at_before_they_are_changed(tmp_path, database):
    environment = clean_environment() | {
        "DATA_DIR": str(tmp_path / "var"), "DJANGO_SETTINGS_MODULE": "webapp.settings",
    }  # fmt: skip
    if database == "postgres":
        environment["DATABASE_URL"] = servers.new_database()
    ran = subprocess.run(
        [sys.executable, "-c", STEPS], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) > 50


@pytest.mark.spark
def test_data_of_the_first_version_open_and_its_jobs_are_done(launched, tmp_path):
    with zipfile.ZipFile(FIRST) as package:
        package.extractall(tmp_path / "var")
    run = launched(PORT=embedded_redis.free_port())
    run.wait_to_say("Cutline is ready")
    wait_for_jobs(run, tmp_path / "var")
    browser = signed_in(tmp_path / "var")
    answers = asked(browser, "/")
    assert {status for status, _ in answers} == {200}, [a for a in answers if a[0] != 200]
    assert len(answers) > 40
    os.killpg(run.process.pid, signal.SIGINT)
    assert run.process.wait(PATIENCE_SECONDS) == 0
    wait_until_nothing_is_left(run)


def wait_for_jobs(run, folder: Path) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (states := job_states(folder)) != {"done"}:
        assert "failed" not in states, run.said()
        assert time.monotonic() < deadline, run.said()
        time.sleep(0.2)


def job_states(folder: Path) -> set[str]:
    with sqlite3.connect(folder / "cutline.sqlite3") as rows:
        return {state for (state,) in rows.execute("SELECT state FROM snapshots_job")}


def signed_in(folder: Path) -> tuple[OpenerDirector, str]:
    """Return a browser of the owner, and the address of the server."""
    ran = subprocess.run(
        [sys.executable, "manage.py", "sign_in_link", OWNER],
        cwd=ROOT,
        env=clean_environment() | {"DATA_DIR": str(folder)},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    link = ran.stdout.strip()
    browser = build_opener(HTTPCookieProcessor(CookieJar()))
    page = browser.open(link).read().decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    assert token is not None, page
    origin = link.partition("/sign-in/")[0]
    form = urlencode({"csrfmiddlewaretoken": token[1]}).encode()
    browser.open(Request(link, form, {"Referer": origin}))
    return browser, origin


def asked(signed: tuple[OpenerDirector, str], first: str) -> list[tuple[int, str]]:
    """Ask a page, and all that pages link to; return each status with the address."""
    browser, origin = signed
    answers, waiting, kinds = [], [first], Counter()
    seen = {first}
    while waiting:
        address = waiting.pop(0)
        status, body = answered(browser, origin + address)
        answers.append((status, address))
        for found in ADDRESS.findall(body):
            kind = re.sub(r"\d+", "N", found.partition("?")[0])
            if found not in seen and kinds[kind] < OF_A_KIND and not kind.startswith("/static"):
                kinds[kind] += 1
                seen.add(found)
                waiting.append(found.replace("&amp;", "&"))
    return answers


def answered(browser: OpenerDirector, address: str) -> tuple[int, str]:
    try:
        with browser.open(address) as answer:
            is_page = answer.headers.get_content_type() == "text/html"
            return answer.status, answer.read().decode() if is_page else ""
    except HTTPError as error:
        return error.code, ""
