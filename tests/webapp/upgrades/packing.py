"""Make the package of a commit: the folder DATA_DIR of that version, filled by that version.

    python -m tests.webapp.upgrades.packing COMMIT NAME

This starts that commit with ``make run`` in a work tree of its own, calls its API, stops it while
jobs are queued, an upload is half there and a recording is open, and packs the folder with what
the version answered. ``--venv`` gives an environment with the packages of that commit; without it
``make run`` makes one.
"""

import argparse
import json
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
import urllib.error
import zipfile
from contextlib import suppress
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, OpenerDirector, Request, build_opener

import psutil

from tests.archive.flink_server import RecordedFlink, Server
from tests.stack import ROOT, clean_environment
from tests.webapp.upgrades import asking, filling
from tests.webapp.upgrades.api import Api
from webapp import embedded_redis

PACKAGES = ROOT / "tests/data/upgrades"
OWNER = "owner@localhost"
LEFT_OUT = {"redis", "lock", "spark", "tmp", "aside", "backups", "python", "derby.log"}
PATIENCE_SECONDS = 240


class Version:
    """A commit that runs with ``make run`` in a work tree of its own."""

    def __init__(self, commit: str, folder: Path, venv: Path | None, *, samples: bool) -> None:
        self.tree, self.data = folder / "tree", folder / "var"
        git("worktree", "add", "--detach", str(self.tree), commit)
        if venv is not None:
            (self.tree / ".venv").symlink_to(venv)
            (venv / "run.stamp").touch()
        if not samples:
            procfile = self.tree / "Procfile"
            procfile.write_text(
                procfile.read_text().replace("&& python manage.py load_samples", "")
            )
        self.port = embedded_redis.free_port()
        self.environment = clean_environment() | {
            "DATA_DIR": str(self.data), "PORT": str(self.port), "PUBLIC_LINKS": "yes",
            "COLLECTOR_HOSTS": "127.0.0.1",
        }  # fmt: skip
        self.log = folder / "log"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> str:
        """Start it, and return the sign-in link that it prints."""
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                ["make", "run"], cwd=self.tree, env=self.environment, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (link := re.search(r"http://\S+/sign-in/\S+", self.log.read_text())):
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.2)
        return link[0]

    def manage(self, *words: str) -> str:
        command = [".venv/bin/python", "manage.py", *words]
        ran = subprocess.run(
            command, cwd=self.tree, env=self.environment, capture_output=True, text=True
        )
        assert ran.returncode == 0, f"{' '.join(words)}: {ran.stdout}{ran.stderr}"
        return ran.stdout.strip()

    def has(self, command: str) -> bool:
        found = self.tree.glob(f"*/management/commands/{command}.py")
        return any(found) or any(self.tree.glob(f"*/*/management/commands/{command}.py"))

    def processes(self) -> list[psutil.Process]:
        assert self.process is not None
        with suppress(psutil.Error):
            return psutil.Process(self.process.pid).children(recursive=True)
        return []

    def halt_workers(self) -> None:
        """Let no worker take a job any more."""
        for process in self.processes():
            with suppress(psutil.Error):
                if "celery" in " ".join(process.cmdline()):
                    process.suspend()

    def kill(self) -> None:
        """End everything at once, as a crash of the machine would."""
        assert self.process is not None
        for process in [*self.processes(), psutil.Process(self.process.pid)]:
            with suppress(psutil.Error):
                process.send_signal(signal.SIGKILL)
        self.process.wait()

    def remove(self) -> None:
        git("worktree", "remove", "--force", str(self.tree))


def git(*words: str) -> str:
    ran = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return ran.stdout.strip()


def signed_in(link: str) -> tuple[OpenerDirector, str]:
    """Return a browser that has followed a sign-in link, and the cookie of its session."""
    cookies = CookieJar()
    browser = build_opener(HTTPCookieProcessor(cookies))
    press_button(browser, link)
    return browser, "; ".join(
        f"{each.name}={each.value}" for each in cookies if each.name != "csrftoken"
    )


def press_button(browser: OpenerDirector, address: str) -> None:
    """Open a page, and send its first form if that asks whether one really wants it."""
    page = browser.open(address).read().decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    own = re.search(r'<form[^>]*method="post"[^>]*>', page)
    if token and own and ("/sign-in/" in address or "/join/" in address):
        form = urlencode({"csrfmiddlewaretoken": token[1]}).encode()
        with suppress(urllib.error.HTTPError):
            browser.open(Request(address, form, {"Referer": address}))


def fill(version: Version, link: str) -> dict[str, Any]:
    """Fill a version, and return what must be found there again."""
    _, session = signed_in(link)
    tokens = {
        email: version.manage("create_token", email).split()[-1]
        for email in (OWNER, filling.SECOND)
    }
    api, second = (Api(version.origin, token) for token in tokens.values())
    made: dict[str, Any] = {"tokens": tokens, "session": session}
    made |= filling.uploads(api)
    api.wait_for_jobs()
    collect(version, api, made)
    filling.drawings(api, made)
    filling.jobs(api, made)
    filling.notes(api, made)

    def join(address: str) -> None:
        browser, _ = signed_in(version.manage("sign_in_link", filling.SECOND).split()[-1])
        press_button(browser, address)

    filling.team(api, second, made, join)
    filling.unfinished(api, made)
    api.wait_for_jobs()
    return made | {"refused": [*api.refused, *second.refused]}


def collect(version: Version, api: Api, made: dict[str, Any]) -> None:
    """Let the archive ask a Flink that answers with recorded answers."""
    if not version.has("collect"):
        return
    flink = RecordedFlink(filling.SHARED / "flink" / "failures" / "rest")
    flink.count = len(flink.recorded)
    with Server(flink) as url:
        version.manage("collect", "flink", url, "--once")
        api.post("/api/collectors", {"url": url})
    made["archived"] = api.call("GET", "/api/archive")["items"][0]["id"]


def said(api: Api) -> dict[str, Any]:
    """Return what a version answers to each call that only asks, by its address."""

    def get(address: str) -> Any:
        with suppress(urllib.error.HTTPError):
            return api.call("GET", address)
        return None

    document = api.call("GET", "/api/openapi.json")
    answers = {each: get(each) for each in asking.addresses(document, get)}
    for address, body in asking.cuts(get):
        answers[f"{address} {json.dumps(body)}"] = api.post(address, body)
    return {address: answer for address, answer in answers.items() if answer is not None}


def pack(version: Version, name: str, facts: dict[str, Any]) -> Path:
    """Write the package of a version that does not run any more."""
    for database in version.data.glob("*.sqlite3"):
        with sqlite3.connect(database) as rows:
            rows.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            rows.execute("VACUUM")
        rows.close()
    target = PACKAGES / f"{name}.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_LZMA) as package:
        for path in sorted(version.data.rglob("*")):
            relative = path.relative_to(version.data)
            if relative.parts[0] not in LEFT_OUT and not path.is_socket():
                package.write(path, f"var/{relative.as_posix()}")
        package.writestr("facts.json", json.dumps(facts, indent=1, ensure_ascii=False))
    return target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("commit")
    parser.add_argument("name", help="of the package, such as 0.1.0-first")
    parser.add_argument("--venv", type=Path, help="with the packages of that commit")
    parser.add_argument("--samples", action="store_true", help="let it load its samples, too")
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="cutline-upgrade-"))
    version = Version(asked.commit, folder, asked.venv, samples=asked.samples)
    try:
        facts = fill(version, version.start())
        api = Api(version.origin, facts["tokens"][OWNER])
        facts |= {"commit": git("rev-parse", asked.commit), "said": said(api)}
        version.halt_workers()
        filling.queued(api, facts)
        version.kill()
        target = pack(version, asked.name, facts)
    finally:
        if version.process and version.process.poll() is None:
            version.kill()
        version.remove()
        shutil.rmtree(folder)
    print(f"{target.name}: {target.stat().st_size // 1000} kB, {len(facts['said'])} answers")
    print("\n".join(facts["refused"]))


if __name__ == "__main__":
    main()
