"""The pages of differences: every count leads to its keys, and the older checkpoint is first."""

import re

import pytest

from tests.web.given import a_client, a_person, signed_in
from tests.web.pages.test_inventory import given, words

__all__ = ["given"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def address_of(page, state, kind):
    """Return the address to which a count of a state's keys leads."""
    found = re.search(rf'href="([^"]*state={re.escape(state)}&amp;change={kind})"', page)
    assert found, f"no link to the {kind} keys of {state}"
    return found[1].replace("&amp;", "&")


def test_a_count_leads_to_its_keys_with_before_and_after(given, ada):
    address, client = given("rocksdb-incremental"), signed_in(ada)
    page = client.get(f"{address}/3/difference").content.decode()
    keys = words(client.get(address_of(page, "amountByProduct", "changed")))
    assert "1 to 12 of 12 shown." in keys
    assert "amountByProduct of enrich, from checkpoint 3 to checkpoint 4" in keys
    row = keys[keys.index('"c10"') :]
    after = '{"book":452,"drum":444,"apple":404,"chair":802}'
    assert row.startswith('"c10" key group 0 {"book":')
    assert after in row
    assert "0 added 0 removed 12 changed 0 unknown 0 same" in keys
    found = words(client.get(f"{address_of(page, 'amountByProduct', 'changed')}&q=802"))
    assert "1 to 1 of 1 shown, with “802”." in found


def test_the_previous_checkpoint_is_preset_and_the_older_one_comes_first(given, ada):
    address, client = given("rocksdb-incremental"), signed_in(ada)
    assert "checkpoint 4 since checkpoint 3" in words(client.get(f"{address}/3/difference"))
    turned = words(client.get(f"{address}/1/difference", {"since": "3"}))
    assert "checkpoint 4 since checkpoint 2" in turned
    found = a_client(ada).get(f"/api{address}/0").json()
    enrich = next(item["id"] for item in found["operators"] if item["name"] == "enrich")
    chosen = {"operator": enrich, "state": "vip"}
    preset = client.get(f"{address}/2", chosen).content.decode()
    assert re.search(r'<option value="1" selected>', preset)
    turned = words(client.get(f"{address}/1", {**chosen, "with": "3"}))
    assert "From checkpoint 2 to checkpoint 4: 12 the same." in turned


def test_windows_and_timers_are_shown_as_times(given, ada):
    address, client = given("windows-timers"), signed_in(ada)
    page = client.get(f"{address}/1/difference").content.decode()
    windows = words(client.get(address_of(page, "window-contents", "added")))
    assert "1970-01-01 00:00:40 to 00:00:45 UTC" in windows
    assert "40000" not in windows
    found = a_client(ada).get(f"/api{address}/1").json()
    operator = next(item["id"] for item in found["operators"] if item["name"] == "reminder")
    chosen = {"operator": operator, "state": "_timer_state/event_user-timers"}
    timers = words(client.get(f"{address}/1", chosen))
    assert "1970-01-01 00:01:44.500 UTC" in timers  # 104,500 ms, as Flink says
    assert "104500" not in timers
    listed = a_client(ada).get(f"/api{address}/1/entries", chosen).json()
    assert 104_500 in [item["value"] for item in listed["items"]]  # numbers stay numbers there


def test_data_in_flight_leads_to_the_records_of_both_checkpoints(given, ada):
    address, client = given("bank-unaligned"), signed_in(ada)
    shown = words(client.get(f"{address}/1/difference"))
    assert "In flight 49.1 kB → 96.3 kB" in shown
    assert "withdraw[1] deposit[1] added 0 → 36,894 0 → 1,118 after" in shown
    failed = words(client.get(f"{given('failures')}/3/difference", {"since": "2"}))
    assert "In flight not known →" in failed


def test_a_wrong_question_is_refused_and_others_see_nothing(given, ada):
    address, client = given("bank-aligned"), signed_in(ada)
    keys = f"{address}/1/difference/keys"
    assert client.get(keys, {"operator": "none", "state": "none"}).status_code == 404
    found = a_client(ada).get(f"/api{address}/1").json()
    withdraw = next(item["id"] for item in found["operators"] if item["name"] == "withdraw")
    chosen = {"operator": withdraw, "state": "balance"}
    assert client.get(keys, {**chosen, "change": "moved"}).status_code == 404
    assert client.get(keys, {**chosen, "since": "99"}).status_code == 404
    assert "1 added" in words(client.get(keys, chosen))
    assert signed_in(a_person("eve@example.org")).get(keys, chosen).status_code == 404
    answer = a_client(ada).get(f"/api{address}/0/compare/1/keys", {**chosen, "kind": "moved"})
    assert answer.status_code == 422
    listed = a_client(ada).get(f"/api{address}/1/compare/0/keys", {**chosen, "kind": "added"})
    assert (listed.json()["before"], listed.json()["total"]) == (0, 1)
