"""The pages of inventories of real checkpoints, without Spark."""

import html
import re
import zipfile
from pathlib import Path

import orjson
import pytest

from snapshots.files import recordings
from snapshots.models import Recording
from snapshots.readers.engines import registry
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.store.inventory.layout import CONTENTS, UPLOAD
from snapshots.store.inventory.writing import write_inventory
from tests.web.given import a_client, a_person, a_ready_recording, signed_in, text_of
from tests.web.stored_uploads import stored_upload
from webapp.teams.models import Membership
from webapp.teams.roles import Role
from webapp.teams.services import create_team

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]

QUERIES = Path(__file__).resolve().parents[2] / "data"
ORDER = "pojo demo.Order"
PLAIN = re.compile(r"<[^>]*>")
DOWNLOADS = re.compile(r'<p class="downloads.*?</p>')


@pytest.fixture
def given(ada, shared_data):
    """Return the address of a recording beside which the inventory of a case is stored."""

    def written(name: str) -> str:
        recording = a_ready_recording(ada, format="flink", upload="kept")
        upload = FlinkReader().read(shared_data / "flink" / name)
        write_inventory(recordings.store().folder(recording.store), upload)
        return f"/recordings/{recording.pk}/contents"

    return written


def words(page) -> str:
    """Return the text of a page without tags and downloads, with white space as one space."""
    shown = DOWNLOADS.sub("", text_of(page))
    return " ".join(html.unescape(PLAIN.sub(" ", shown)).split())


def test_records_in_flight_are_read_as_a_type_that_states_have(given, ada):
    address = given("unaligned-orders")
    api, page = a_client(ada), signed_in(ada)
    channels = api.get(f"/api{address}/1").json()["channels"]
    [orders, *_] = (
        one for one in channels if "orders" in one["source"] and one["elements"]
    )  # fmt: skip
    asked = f"/api{address}/1/channels/{orders['number']}"
    found = api.get(asked).json()
    assert (found["suggested"][0], found["described"], found["type"]) == (ORDER, [ORDER], None)
    assert len(found["suggested"]) > 1
    decoded = api.get(asked, {"type": ORDER}).json()["items"]
    assert set(decoded[0]["value"]) == {"amount", "customer", "express", "id", "product"}
    within = api.get(asked, {"type": f"nullable<{ORDER}>"})
    assert (within.status_code, within.json()["field"]) == (422, "type")
    assert api.get(asked, {"type": "pojo demo.Other"}).status_code == 422

    shown = words(page.get(f"{address}/1", {"channel": orders["number"]}))
    assert f"Read as {ORDER} , the only type of the states of this checkpoint that fits" in shown
    assert '"customer":"c' in shown
    one = words(page.get(f"{address}/1", {"channel": orders["number"], "type": "string"}))
    assert "Not every record is a string" in one


def of_query(ada, case, tmp_path) -> str:
    """Return the address of the savepoint of a query that a real Flink ran."""
    [path] = QUERIES.glob(f"flink-sql*/{case}.zip")
    with zipfile.ZipFile(path) as package:
        package.extractall(tmp_path)
    recording = stored_upload(ada, FlinkReader(), tmp_path)
    listed = a_client(ada).get(f"/api/recordings/{recording.pk}/contents").json()["checkpoints"]
    return f"/recordings/{recording.pk}/contents/{len(listed) - 1}"


def test_operators_of_a_query_say_in_words_of_sql_what_they_hold(ada, tmp_path):
    address = of_query(ada, "joins", tmp_path)
    api, page = a_client(ada), signed_in(ada)
    answer = api.get(f"/api{address}/queries").json()
    shown = words(page.get(address))
    assert len(answer["operators"]) == 8, "six joins and two aggregations"
    for operator in answer["operators"]:
        assert f"In SQL, this is {operator['does']} ." in shown
        for state in operator["states"]:
            assert f"{state['name']} {' '.join(state['sentences'])}" in shown
    without_end, with_keys = answer["growing"]
    assert without_end in shown
    assert with_keys in shown
    assert without_end.count("left-records and right-records of Join[") == 6


def test_the_heaviest_keys_of_an_operator_lead_to_their_rows(ada, tmp_path):
    address = of_query(ada, "joins", tmp_path)
    api, page = a_client(ada), signed_in(ada)
    [inner] = (
        operator
        for operator in api.get(f"/api{address}/queries").json()["operators"]
        if operator["name"] == "Join[56]"
    )
    first = inner["heavy"][0]
    assert (first["state"], first["elements"]) == ("left-records", 4), "four rows of key 0"
    assert '"fields":[0]' in first["key"]
    links = re.findall(
        r'href="([^"]*q=[^"]*)#entries">{&quot;k&quot;:0}</a>', text_of(page.get(address))
    )
    opened = [words(page.get(html.unescape(link))) for link in links]
    assert all("1 entry with" in one for one in opened)
    rows = [f'[{{"k":0,"id":{id_}}},1]' for id_ in (3, 6, 9, 12)]
    assert any(all(row in one for row in rows) for one in opened)


def test_windows_of_a_query_are_shown_by_the_clock_that_they_end_by(ada, tmp_path):
    address = of_query(ada, "windows", tmp_path)
    api, page = a_client(ada), signed_in(ada)
    found = {one["name"]: one for one in api.get(f"/api{address}/queries").json()["operators"]}
    clocks = {name.split("[")[0]: one["clock"] for name, one in found.items()}
    assert "local time, which was +08:00, as their timers say" in clocks["WindowRank"]
    assert "names Asia/Shanghai" in clocks["WindowRank"]

    def opened(kind: str, state: str) -> str:
        operator = next(one["id"] for name, one in found.items() if name.startswith(kind))
        return words(page.get(address, {"operator": operator, "state": state}))

    ranked = opened("WindowRank", "window_rank")
    assert "window up to 2023-11-16 00:00:00 (+08:00)" in ranked
    assert '"window_end":"2023-11-16T00:00:00"' in ranked, "the same clock as in the rows"
    assert "named by the compiled plan in plan.json" in ranked
    grouped = opened("GroupWindowAggregate", "window-aggs")
    assert "2023-11-15 00:00:00 to 2023-11-16 00:00:00 (+08:00)" in grouped
    timers = opened("WindowRank", "_timer_state/event_window-timers")
    assert "2023-11-15 15:59:59.999 UTC" in timers, "a timer is an instant"


def test_keys_that_differ_are_written_as_the_entries_are(ada, tmp_path):
    address = of_query(ada, "sql-topn", tmp_path)
    api, page = a_client(ada), signed_in(ada)
    held = api.get(f"/api{address}").json()["operators"]
    [operator] = (one["id"] for one in held if one["name"] == "GroupAggregate[44]")
    asked = {"operator": operator, "state": "accState"}
    before = int(address.rpartition("/")[2]) - 1
    same = asked | {"since": str(before), "change": "same"}
    for shown in (page.get(address, asked), page.get(f"{address}/difference/keys", same)):
        assert '{"s":"a"}' in words(shown)
        assert '{"c":' in words(shown)


def test_facts_are_written_as_people_read_them(given, ada):
    address = given("bank-aligned")
    page = signed_in(ada)
    listed, one = words(page.get(address)), words(page.get(f"{address}/0"))
    assert re.search(r"started at 2026-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC", listed)
    assert "timeout 10 min" in listed or "timeout 3 min" in listed
    assert re.search(r"size of _metadata [\d.]+ kB", one)
    assert not re.search(r"\b1\d{12}\b", listed + one), "epoch milliseconds stand as they are"
    facts = a_client(ada).get(f"/api{address}/0").json()["facts"]
    units = {fact["name"]: (fact["unit"], type(fact["value"])) for fact in facts}
    assert units["last acknowledgement at"] == ("epoch ms", int)
    assert units["size of _metadata"] == ("bytes", int)
    assert units["version of _metadata"] == (None, int)


@pytest.mark.parametrize(
    ("name", "number", "says"),
    [
        ("bank-aligned", 0, "In flight none"),
        ("bank-aligned", 0, "Nothing was in flight. The checkpoint was aligned"),
        ("failures", 2, "In flight not known"),
        ("failures", 2, "It is not known what was in flight. The checkpoint did not complete"),
    ],
)
def test_nothing_in_flight_is_distinguished_from_not_known(given, ada, name, number, says):
    address = given(name)
    assert says in words(signed_in(ada).get(f"{address}/{number}"))


def test_what_was_in_flight_in_a_pipeline_of_seatunnel_is_no_zero(ada, shared_data, tmp_path):
    packed = shared_data / "seatunnel" / "synthetic-fake-to-localfile.zip"
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(tmp_path)
    recording = stored_upload(ada, registry.READERS["seatunnel"], tmp_path)
    contents = f"/recordings/{recording.pk}/contents"
    items = a_client(ada).get(f"/api{contents}").json()["checkpoints"]
    assert {one["in_flight"] for one in items} == {None}
    shown = words(signed_in(ada).get(f"{contents}/0"))
    assert "In flight not known" in shown


def test_a_comparison_says_of_what_and_what_it_leaves_out(given, ada):
    address = given("bank-aligned")
    found = a_client(ada).get(f"/api{address}/1").json()
    withdraw = next(item["id"] for item in found["operators"] if item["name"] == "withdraw")
    asked = {"operator": withdraw, "state": "balance", "with": "0"}
    shown = words(signed_in(ada).get(f"{address}/1", asked))
    assert "From checkpoint 1 to checkpoint 2: 1 added, 2 the same. Keys that differ" in shown
    assert "Entries of checkpoint 2" in shown


def test_an_inventory_of_another_release_asks_to_be_read_again(given, ada):
    address = given("bank-aligned")
    [path] = recordings.store().root.rglob(f"{CONTENTS}/{UPLOAD}")
    document = orjson.loads(path.read_bytes())
    del document["version"]
    path.write_bytes(orjson.dumps(document))
    for place in (address, f"{address}/0", f"{address}/0/restore-plan"):
        answer = signed_in(ada).get(place)
        assert answer.status_code == 409
        assert "stored by another version of Cutline" in answer.content.decode()
        assert "Read the file again" in answer.content.decode()
    told = a_client(ada).get(f"/api{address}")
    assert (told.status_code, told.json()["type"]) == (409, "/problems/stored-by-another-version")
    team = create_team(a_person("eve@example.org"), "payments")
    Membership.objects.create(team=team, person=ada, role=Role.VIEWER)
    Recording.objects.update(owner=team.account)
    seen = signed_in(ada).get(address)
    assert seen.status_code == 409
    assert "Read the file again" not in seen.content.decode()
