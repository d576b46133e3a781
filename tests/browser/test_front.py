"""The barrier front in a browser: replayed, stepped through, linked to, and followed."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.archive.flink_server import Server, StuckFlink

POLL = """
import json
from django.contrib.auth.models import User
from snapshots.archive import collecting
job = collecting.poll(User.objects.get(username="owner@localhost"), "{url}").jobs[0]
print(json.dumps([job.pk, job.polls.count()]))
"""
ENRICH = "9c32e3838cee893dbb2fc90ccad79598"


@pytest.fixture
def flink(shared_data):
    flink = StuckFlink(shared_data / "flink" / "failures" / "rest")
    flink.count = 1
    flink.done = {vertex: width for vertex, width in flink.widths.items() if _is_source(vertex)}
    flink.job = flink.job | {"now": flink.triggered_at + 20_000}
    return flink


def _is_source(vertex: str) -> bool:
    return vertex[:6] in ("45b025", "495c33", "5182b4")


def named(flink: StuckFlink, key: str) -> StuckFlink:
    flink.key = key * 32
    flink.job = flink.job | {"jid": flink.key, "name": f"stuck {key}"}
    return flink


def polled(server, url: str) -> int:
    found = server.manage("shell", "--verbosity", "0", "-c", POLL.format(url=url))
    return json.loads(found)[0]


def test_a_stuck_checkpoint_is_followed_and_replayed(page, server, flink):
    named(flink, "a")
    with Server(flink) as url:
        job = polled(server, url)
        page.goto(f"/archive/{job}")
        page.get_by_role("link", name="Barrier front").click()
        expect(page.locator("#front")).to_contain_text("Poll 1 of 1")
        expect(page.locator(".front-edge.is-front")).to_have_count(2)
        flink.let_pass(10_000)
        flink.done |= {ENRICH: 2}
        polled(server, url)
        expect(page.locator("#front")).to_contain_text("Poll 2 of 2")
        expect(page.locator("#front")).to_contain_text("to apply-rules")
        page.get_by_role("link", name="Earlier").click()
        expect(page).to_have_url(re.compile(r"[?]poll=\d+$"))
        expect(page.locator("#front")).to_contain_text("Poll 1 of 2")
        flink.let_pass(10_000)
        polled(server, url)
        page.reload()
        expect(page.locator("#front")).to_contain_text("Poll 1 of 3")
        page.get_by_role("button", name="Play").click()
        expect(page.locator("#front")).to_contain_text("Poll 3 of 3")
        expect(page.get_by_role("button", name="Play")).to_be_visible()
        page.get_by_role("slider", name="Poll").press("ArrowLeft")
        expect(page.locator("#front")).to_contain_text("Poll 2 of 3")


def test_a_page_that_follows_goes_on_to_the_next_checkpoint(page, server, flink):
    named(flink, "c")
    with Server(flink) as url:
        job = polled(server, url)
        front = f"/archive/{job}/checkpoints/0"
        page.goto(f"{front}/2/front")
        expect(page.locator("#front")).to_contain_text("Poll 1 of 1")
        flink.count = 2
        flink.job = flink.job | {"now": flink.triggered_at + 1_000}
        polled(server, url)
        expect(page).to_have_url(re.compile(f"{front}/3/front$"))
        expect(page.locator("#front")).to_contain_text("Poll 1 of 1")
        expect(page.locator(".page-head .checkpoint-status")).to_have_text("in progress")


def test_a_page_of_the_archive_connects_again_and_shows_what_it_missed(page, server, flink):
    named(flink, "b")
    held = []

    def pass_on(socket):
        held.append(socket)
        socket.connect_to_server()

    page.route_web_socket(re.compile("/ws/archive/"), pass_on)
    with Server(flink) as url:
        job = polled(server, url)
        page.goto(f"/archive/{job}")
        state = page.locator("[data-live-state]")
        expect(page.locator(".archive-strip a")).to_have_count(2)
        held[0].close(code=1012, reason="restart")
        expect(state).to_have_text(re.compile("^The connection is lost: "))
        flink.is_going, flink.count = False, 3
        polled(server, url)
        expect(page.locator(".archive-strip a")).to_have_count(3, timeout=30_000)
        expect(state).to_have_text("Checkpoint 3 is the newest.")
        assert len(held) > 1
