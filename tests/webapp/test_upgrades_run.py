"""After an upgrade by `make run`, work goes on, and a backup is restored on another database."""

import json
import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from tests.campaign import database as servers
from tests.stack import ROOT
from tests.webapp.launched import PATIENCE_SECONDS, wait_until_nothing_is_left
from tests.webapp.serving import wait_until
from tests.webapp.test_upgrades import PACKAGES, SAID_OTHERWISE, asked_all, says_another_version
from tests.webapp.upgrades import comparing, packages
from tests.webapp.upgrades.api import Api
from tests.webapp.upgrades.contents import IN_PIECES, REST
from webapp import embedded_redis

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.long]
OWNER = "owner@localhost"
KEPT = ("/cuts", "/entries", "/timeline", "/api/topologies", "/api/mappings", "/checkpoints")
"""Parts of calls whose answers are the same when an upload has been read again."""
OF_BEFORE = ("upload", "open", "short", "session")
"""What a backup leaves out, or what has been ended before it."""
SAID_AGAIN = (
    r"/checkpoints\S* \S*\.sentence: ",
    r"/cuts .*(: \[\] has become 'nothing'|consistent: True has become None)",
    r"/checkpoints.*critical_path",
    r"/archive/.*in_flight: None has become \d",
)
"""What today's version says when it has read an upload again: sentences in other words, that it is
not known what an engine's channels held between its checkpoints, until when a task waited for its
acknowledgement, and the bytes in flight that a checkpoint itself states."""


@pytest.mark.parametrize("name", PACKAGES)
def test_work_goes_on_after_an_upgrade_and_a_backup_holds_it(name, launched, tmp_path):
    facts = packages.unpack(name, tmp_path)
    environment = packages.settings(tmp_path / "var")
    port = embedded_redis.free_port()
    run = launched(PORT=port, PUBLIC_LINKS="yes")
    run.wait_to_say("Cutline is ready")
    api = Api(f"http://127.0.0.1:{port}", facts["tokens"][OWNER])
    require_done(api)
    finish(api, facts)
    require_done(api)
    again = ("ingest_again", "--all", "--wait")  # first while samples may be under way
    wait_until(lambda: "0 left out" in manage(environment, *again), 5 * PATIENCE_SECONDS)
    manage(environment, "backup", str(tmp_path / "backup"))
    os.killpg(run.process.pid, signal.SIGINT)
    assert run.process.wait(PATIENCE_SECONDS) == 0
    wait_until_nothing_is_left(run)

    restored = packages.settings(tmp_path / "restored", servers.new_database())
    manage(restored, "restore_backup", str(tmp_path / "backup"))
    left = {key: fact for key, fact in facts.items() if key not in OF_BEFORE}
    (tmp_path / "facts.json").write_text(json.dumps(left | {"session": "sessionid=none"}))
    require_kept(name, facts, asked_all(tmp_path, restored, "--all"))


def require_done(api: Api) -> None:
    api.wait_for_jobs()
    jobs = api.call("GET", "/api/jobs?limit=100")["items"]
    failed = [job for job in jobs if job["state"] != "done"]
    assert all("another version of Cutline" in str(job["error"]) for job in failed), failed


def finish(api: Api, facts: dict[str, Any]) -> None:
    """Send what is missing of an upload and of an open recording, if there are such."""
    if "upload" in facts:
        offset = len(IN_PIECES) // 2
        headers = {"Tus-Resumable": "1.0.0", "Upload-Offset": str(offset)}
        kind = {"Content-Type": "application/offset+octet-stream"}
        api.call("PATCH", f"/api{facts['upload']}", IN_PIECES[offset:], headers | kind)
    if "open" in facts:
        address = f"/api/recordings/{facts['open']}"
        kind = {"Content-Type": "application/x-ndjson"}
        assert api.call("POST", f"{address}/events", REST, kind)["missing"] == 0
        api.call("POST", f"{address}/close", b"")


def require_kept(name: str, facts: dict[str, Any], answers: dict[str, Any]) -> None:
    found = answers["statuses"].values()
    assert not [each for each in found if each[0] >= 500 or says_another_version(*each)]
    said = {
        call: answer
        for call, answer in answers["said"].items()
        if any(part in call for part in KEPT)
    }
    differences = comparing.differences(facts["said"], said)
    said_otherwise = SAID_OTHERWISE.get(name, ()) + SAID_AGAIN
    assert comparing.unexpected(differences, said_otherwise) == []


def manage(environment: dict[str, str], *words: str) -> str:
    command = [sys.executable, "manage.py", *words]
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, f"{words}: {ran.stdout}{ran.stderr}"
    return ran.stdout
