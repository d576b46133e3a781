"""An upgrade is: stop, install the new code, `make run`. The data of earlier versions open."""

import json
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
from tests.webapp.upgrades import comparing, packages
from tests.webapp.upgrades.contents import IN_PIECES
from webapp import embedded_redis

pytestmark = pytest.mark.slow

OWNER = "owner@localhost"
FIRST = ROOT / "tests/data/upgrades/0.1.0-first.zip"
ADDRESS = re.compile(r'(?:href|data-url)="(/[^"#]*)')
OF_A_KIND = 1  # addresses that differ in their numbers alone
PACKAGES = tuple(name for name in packages.NAMES if name != FIRST.stem)
OF_ANOTHER_LAYOUT = {"1-store-1", "2-inventory-1"}
"""Packages with recordings that must be read again; the upgrade says so, and does it."""
NAMES_ALL = r"slowest|waited_for"  # migration 0014: a failed checkpoint names all that were late
MENDED = r"/archive/.*(phase|missing|/compare\?)"  # migration 0007: what kept a checkpoint
PLANS = r"/restore-plan|why_unknown"  # plans are in the order of the job, and all in other words
SAID_OTHERWISE: dict[str, tuple[str, ...]] = {
    "2-inventory-1": (NAMES_ALL, MENDED),
    "3-first": (NAMES_ALL, PLANS),
    "4-notes": (NAMES_ALL,),
    "5-store-2": (NAMES_ALL,),
}
"""What is rightly said otherwise since a package was made: patterns of the call and the field."""
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


def on_databases() -> list:
    """Return each package with each database, of which `make test` takes one in turn."""
    return [
        pytest.param(
            *(name, database),
            marks=[] if number % 2 == turn else [pytest.mark.long],
            id=f"{name}-{database}",
        )
        for number, name in enumerate(PACKAGES)
        for turn, database in enumerate(("sqlite", "postgres"))
    ]


@pytest.mark.parametrize(("name", "database"), on_databases())
def test_data_of_an_earlier_version_open_and_say_the_same(tmp_path, name, database, request):
    facts, environment = installed(name, database, tmp_path)
    is_whole = request.node.get_closest_marker("long") is not None
    answers = asked_all(tmp_path, environment, *(["--all"] if is_whole else []))
    require_answers(name, facts, answers)
    require_going_on(facts, answers["went_on"])


def installed(name: str, database: str, folder: Path) -> tuple[dict, dict[str, str]]:
    """Unpack a package as an installation on a database; return its facts and environment."""
    facts = packages.unpack(name, folder)
    if database == "sqlite":
        return facts, packages.settings(folder / "var")
    url = servers.new_database()
    packages.move_to_postgres(folder / "var", url)
    return facts, packages.settings(folder / "var", url)


def asked_all(folder: Path, environment: dict[str, str], *options: str) -> dict:
    """Open an installation, and return what it answers."""
    answers = folder / "answers.json"
    command = [sys.executable, "-m", "tests.webapp.upgrades.asked"]
    ran = subprocess.run(
        [*command, str(folder / "facts.json"), str(answers), *options],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(answers.read_text())


def require_answers(name: str, facts: dict, answers: dict) -> None:
    """Require that all answers, that nothing is lost, and that what must be read again says so."""
    refused = {each: found for each, found in answers["statuses"].items() if found[0] >= 400}
    unread = {each for each, found in refused.items() if says_another_version(*found)}
    unread_layout = {each for each in unread if "Its layout is" in refused[each][1]}
    assert bool(unread_layout) == (name in OF_ANOTHER_LAYOUT), unread
    unread |= {each for each, found in refused.items() if says_judged_before(each, *found)}
    asked_before = {each for each in answers["statuses"] if is_asked_before(each, facts)}
    assert not {each: refused[each] for each in refused.keys() - unread if each in asked_before}
    assert not {each: found for each, found in refused.items() if found[0] >= 500}
    said_otherwise = SAID_OTHERWISE.get(name, ())
    found = comparing.differences(facts["said"], answers["said"])
    assert comparing.unexpected(found, said_otherwise) == []
    assert len(answers["said"]) > 7


def says_another_version(status: int, content: str) -> bool:
    return status == 409 and "stored by another version of Cutline" in content


def says_judged_before(address: str, status: int, content: str) -> bool:
    """Return whether a finding is one that today's version words otherwise: no part shows it."""
    return status == 409 and "/smallest-part" in address and "judged by an older" in content


def is_asked_before(address: str, facts: dict) -> bool:
    """Return whether the older version answered it, or a page leads to it."""
    return address in facts["said"] or address.startswith("page ")


def require_going_on(facts: dict, went_on: dict) -> None:
    """Require that an upload is finished, an open recording closed, and that links lead there."""
    assert went_on.pop("second token") == 200
    expected = {
        "upload": [len(IN_PIECES) // 2, 204],
        "open": [5, 202],
        "short": 200,
        "public": 200,
    }
    assert went_on == {each: answer for each, answer in expected.items() if each in facts}
