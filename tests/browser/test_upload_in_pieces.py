"""Large files in a browser: sent in pieces, over a server that is killed, a pause and a reload."""

import hashlib
import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.conftest import watch_for_errors
from tests.stack import Stack
from tests.webapp.over_http import Api, sign_in

MEGABYTE = 1_000_000
HEADER = {
    "kind": "header",
    "format": "cutline",
    "version": 1,
    "name": "large",
    "processes": [{"id": "A"}, {"id": "B"}],
    "channels": [{"id": "A->B", "source": "A", "target": "B"}],
}


def large_log(path: Path, size: int) -> int:
    """Write a log of about ``size`` bytes in long lines, and return the number of its events."""
    events = size // 1_000
    with path.open("w") as file:
        file.write(json.dumps(HEADER) + "\n")
        for number in range(events):
            label = f"{number:>910}"
            line = {"process": "AB"[number % 2], "kind": "internal", "at": number, "label": label}
            file.write(json.dumps(line) + "\n")
    return events


@pytest.fixture(scope="module")
def own(live_redis, tmp_path_factory) -> Stack:
    """Provide a server that may be killed, with a worker of its own."""
    stack = live_redis.beside(
        tmp_path_factory.mktemp("large"), REDIS_URL=live_redis.redis_url.removesuffix("/0") + "/5"
    )
    stack.start_server()
    stack.start_worker()
    yield stack
    stack.stop()


@pytest.fixture
def slow(browser, own):
    """Provide a signed-in page that sends at most 16 MB a second.

    While the server is dead its websocket breaks, which the browser says by itself.
    """
    state = [
        {"name": one.name, "value": one.value, "domain": one.domain, "path": one.path}
        for one in sign_in(own)
    ]
    context = browser.new_context(base_url=own.url, storage_state={"cookies": state, "origins": []})
    page = context.new_page()
    errors = watch_for_errors(page)
    network = context.new_cdp_session(page)
    network.send("Network.enable")
    limits = {"offline": False, "latency": 0, "downloadThroughput": -1}
    network.send("Network.emulateNetworkConditions", {**limits, "uploadThroughput": 16 * MEGABYTE})
    page.goto("/")
    yield page
    context.close()
    errors = [error for error in errors if not error.startswith("WebSocket connection")]
    assert not errors, f"the page complained: {errors}"


def choose(page, path: Path) -> None:
    page.set_input_files("#upload-file", str(path))


def row_of(page, name: str):
    return page.locator(".upload-row", has=page.get_by_text(name, exact=True))


def sent(row) -> float:
    """Return how many MB a row says were sent."""
    said = re.match(r"([\d.]+) (k?M?B) of", row.locator(".panel-head .soft").last.inner_text())
    return float(said[1]) if said and said[2] == "MB" else 0.0


def wait_until_sent(page, row, megabytes: float) -> None:
    for _ in range(600):
        if sent(row) >= megabytes:
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"only {sent(row)} MB were sent")


def upload_of(stack: Stack, recording: int) -> Path:
    code = f"print('upload', Recording.objects.get(pk={recording}).upload)"
    code = f"from snapshots.models import Recording; {code}"
    said = stack.manage("shell", "--no-imports", "--command", code)
    return stack.folder / "uploads" / re.search(r"upload (\w+)", said)[1]


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@pytest.mark.long
def test_a_file_goes_on_after_the_server_was_killed(own, slow, tmp_path):
    log = tmp_path / "killed.jsonl"
    events = large_log(log, 64 * MEGABYTE)
    choose(slow, log)
    row = row_of(slow, "killed.jsonl")
    wait_until_sent(slow, row, 20)
    own.kill("server")
    expect(row.get_by_role("status")).to_contain_text("The server cannot be reached.")
    expect(row.get_by_role("progressbar")).to_have_attribute("aria-valuetext", re.compile(" of 6"))
    own.start_server()
    slow.wait_for_url(re.compile(r"/recordings/\d+"), timeout=120_000)
    api = Api(own)
    [recording] = api.get("/recordings?q=killed")["items"]
    assert sha256(upload_of(own, recording["id"])) == sha256(log)
    assert api.get(f"/recordings/{recording['id']}")["counts"]["events"] == events


def test_after_a_pause_and_a_reload_the_same_file_goes_on(own, slow, tmp_path):
    log = tmp_path / "paused.jsonl"
    large_log(log, 24 * MEGABYTE)
    choose(slow, log)
    row = row_of(slow, "paused.jsonl")
    wait_until_sent(slow, row, 10)
    slow.get_by_role("button", name="Pause paused.jsonl").focus()
    slow.keyboard.press("Enter")
    expect(row).to_contain_text("paused")
    expect(slow.get_by_role("button", name="Go on with paused.jsonl")).to_be_focused()
    before = Api(own).get("/uploads")["items"][0]["offset"]
    assert 8 * MEGABYTE < before < 24 * MEGABYTE
    slow.reload()
    expect(row_of(slow, "paused.jsonl")).to_contain_text("unfinished")
    choose(slow, log)
    row = row_of(slow, "paused.jsonl")
    expect(row).to_have_count(1)
    slow.wait_for_url(re.compile(r"/recordings/\d+"), timeout=60_000)
    api = Api(own)
    assert api.get("/uploads")["items"] == []
    [recording] = api.get("/recordings?q=paused")["items"]
    assert sha256(upload_of(own, recording["id"])) == sha256(log)


def test_an_unfinished_upload_is_discarded(own, slow, tmp_path):
    log = tmp_path / "unwanted.jsonl"
    large_log(log, 40 * MEGABYTE)
    choose(slow, log)
    row = row_of(slow, "unwanted.jsonl")
    wait_until_sent(slow, row, 1)
    slow.get_by_role("button", name="Pause unwanted.jsonl").click()
    expect(row).to_contain_text("paused")
    slow.reload()
    slow.get_by_role("button", name="Discard unwanted.jsonl").click()
    expect(row_of(slow, "unwanted.jsonl")).to_have_count(0)
    assert Api(own).get("/uploads")["items"] == []


def test_a_large_file_without_meaning_is_refused_with_its_line(own, slow, tmp_path):
    log = tmp_path / "wrong.jsonl"
    events = large_log(log, 17 * MEGABYTE)
    lines = log.read_text().splitlines(keepends=True)
    assert len(lines) == events + 1
    lines[2] = "not json at all\n"
    log.write_text("".join(lines))
    choose(slow, log)
    row = row_of(slow, "wrong.jsonl")
    expect(row.get_by_role("alert")).to_contain_text("Line 3", timeout=60_000)
    assert Api(own).get("/uploads")["items"] == []
