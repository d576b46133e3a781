"""Two recordings, snapshots or cuts stand side by side on a page, and the second can be chosen."""

import json
import re
from dataclasses import replace
from html import unescape
from urllib.parse import parse_qsl, urlsplit

import pytest

from snapshots.files.recordings import open_recording
from snapshots.models import Recording
from snapshots.simulating.reruns import DEMONSTRATION, rerun_of
from snapshots.web.pages import comparison
from tests.web.given import a_person, a_ready_recording, signed_in, text_of
from tests.web.pages.test_inventory import words

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]

ADDRESS = "/compare/two"


@pytest.fixture
def runs(ada) -> tuple[Recording, Recording]:
    """Return one simulated run with a broken marker rule, and the same seed without the fault."""
    again = rerun_of(DEMONSTRATION)
    logs = (again.breaking("late_markers", "A->B").log(), again.log())
    rows = [a_ready_recording(ada, log) for log in logs]
    for row, name in zip(rows, ("before", "after"), strict=True):
        Recording.objects.filter(pk=row.pk).update(name=name)
    return rows[0], rows[1]


@pytest.fixture
def client(ada):
    return signed_in(ada)


def shown(client, left, right, **places):
    return client.get(ADDRESS, {"left": left.pk, "right": right.pk, **places})


def addresses(answer) -> list[str]:
    return [unescape(found) for found in re.findall(r'href="([^"]+)"', answer.content.decode())]


def test_the_page_lists_what_the_api_lists(client, api, runs):
    answer = shown(client, *runs)
    body = api.get("/api/compare", {"left": runs[0].pk, "right": runs[1].pk}).json()
    text = unescape(text_of(answer))
    places = [text.index(f'<td class="sentence">{item["sentence"]}</td>') for item in body["items"]]
    assert places == sorted(places)
    assert len(places) == 6
    assert "The same on both sides: 3 states, 6 channels, 2 answers." in words(answer)
    assert body["order"] in text


def test_each_link_of_a_difference_leads_there(client, runs):
    found = addresses(shown(client, *runs))
    pairs = [address for address in found if "left_snapshot=s1" in address]
    assert len(pairs) == 2
    both = client.get(pairs[0])
    assert "B recorded 1235 in s1 of “before” and 1167 in s1 of “after”." in unescape(text_of(both))
    events = [address for address in found if "event=" in address]
    assert f"/recordings/{runs[0].pk}?event=7%40C" in events
    assert all(client.get(address).status_code == 200 for address in found if "/compare" in address)


def test_a_swapped_page_is_the_other_way_round(client, runs):
    answer = shown(client, *runs, left_snapshot="s1", right_step="30")
    [swapped] = [
        address
        for address in addresses(answer)
        if address.startswith(f"{ADDRESS}?") and "table=" not in address
    ]
    assert dict(parse_qsl(urlsplit(swapped).query)) == {
        "right": str(runs[0].pk),
        "right_snapshot": "s1",
        "left": str(runs[1].pk),
        "left_step": "30",
    }
    assert "the cut after 30 events of “after” and s1 of “before” compared" in words(
        client.get(swapped)
    )


def test_a_difference_names_the_events_that_the_diagrams_show(client, runs):
    text = shown(client, *runs).content.decode()
    data = json.loads(re.search(r'id="compare-differences"[^>]*>(.*?)</script>', text)[1])
    item = next(item for item in data if item["process"] == "C")
    for row, spot in zip(runs, item["spots"], strict=True):
        event = open_recording(row).event("C", 7)
        assert spot == {"at": event["at"], "step": event["step"]}


def test_without_a_difference_the_page_says_so(client, runs):
    assert "Nothing differs." in words(shown(client, runs[0], runs[0]))
    cut = {"left_step": 0, "right_snapshot": "s1"}
    assert "Not compared" in words(shown(client, runs[0], runs[0], **cut))


def test_what_is_not_on_the_page_is_counted(client, runs, monkeypatch):
    monkeypatch.setattr(comparison, "ROWS", 4)
    monkeypatch.setattr(comparison, "MOST_NOT_COMPARED", 1)
    answer = words(shown(client, *runs))
    assert "1 to 4 of 6" in answer
    second = words(shown(client, *runs, page=2))
    assert "5 to 6 of 6" in second
    cut = words(shown(client, runs[0], runs[0], left_snapshot="s1", right_step=9))
    assert "2 more are not listed." in cut


def test_the_second_is_chosen_on_the_way(client, ada, runs):
    other = a_ready_recording(a_person("bob@example.org"))
    answer = client.get(ADDRESS, {"left": runs[0].pk})
    assert "Compare “before” with what?" in words(answer)
    offered = [address for address in addresses(answer) if address.startswith(ADDRESS)]
    assert offered == [f"{ADDRESS}?left={runs[0].pk}&right={row.pk}" for row in reversed(runs)]
    assert not any(str(other.pk) in address.split("right=")[-1] for address in offered)
    assert "Differences" in words(client.get(offered[0]))
    filtered = addresses(client.get(ADDRESS, {"left": runs[0].pk, "q": "befo"}))
    assert [address for address in filtered if address.startswith(ADDRESS)] == offered[1:]


def test_a_snapshot_is_compared_with_one_of_another_recording(client, runs):
    page = client.get(f"/recordings/{runs[0].pk}/snapshots/s1")
    [begin] = [address for address in addresses(page) if address.startswith(ADDRESS)]
    chosen = client.get(begin)
    assert "Compare s1 of “before” with what?" in words(chosen)
    assert "This recording has no other snapshot." in words(chosen)
    offered = [address for address in addresses(chosen) if address.startswith(ADDRESS)]
    [other] = offered
    states = client.get(other)
    assert "Compare which state of after?" in words(states)
    [last] = [address for address in addresses(states) if address.startswith(ADDRESS)]
    assert "s1 of “before” and s1 of “after” compared" in words(client.get(last))


def test_a_cut_is_compared_with_a_cut_that_one_types(client, runs):
    begun = client.get(ADDRESS, {"left": runs[0].pk, "left_positions": "[3, 0, 0]"}).content
    names = re.findall(r'name="(\w+)"', begun.decode())
    assert {"left", "left_positions", "right", "right_step", "right_at"} <= set(names)
    compared = shown(client, runs[0], runs[0], left_positions="[3, 0, 0]", right_step="12")
    assert "the cut at A: 3, B: 0 and C: 0 and the cut after 12 events compared" in words(compared)


@pytest.mark.parametrize(
    "address", ["/recordings/{0}", "/recordings/{0}/answer", "/compare?recordings={0},{1}"]
)
def test_it_is_reached_from_where_one_looks_at_recordings(client, runs, address):
    found = addresses(client.get(address.format(*(row.pk for row in runs))))
    assert any(link.startswith(f"{ADDRESS}?left={runs[0].pk}") for link in found)


def test_what_cannot_be_shown_is_refused(client, runs):
    other = a_ready_recording(a_person("bob@example.org"))
    assert shown(client, runs[0], other).status_code == 404
    assert shown(client, other, runs[0]).status_code == 404
    assert client.get(ADDRESS, {"right": other.pk}).status_code == 404
    assert client.get(ADDRESS, {"left": "x", "right": runs[0].pk}).status_code == 422
    assert shown(client, *runs, left_snapshot="s9", right_snapshot="s1").status_code == 404
    assert shown(client, *runs, left_step="1", right_positions="{").status_code == 422


def test_a_damaged_recording_is_said_to_be_damaged(client, runs):
    (open_recording(runs[0]).folder / "manifest.json").write_text("{")
    assert "Damaged recording" in text_of(shown(client, *runs), 409)


def test_the_page_tells_its_diagrams_which_side_is_derived(client, ada, runs):
    log = rerun_of(DEMONSTRATION).log()
    derived = log._replace(header=replace(log.header, extra={"derived": True}))
    text = text_of(shown(client, runs[0], a_ready_recording(ada, derived)))
    data = re.search(r'<script id="compare-data"[^>]*>(.*?)</script>', text)
    assert [side["is_derived"] for side in json.loads(data[1])["sides"]] == [False, True]
