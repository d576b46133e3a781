"""What the files of tables hold, and how calls for them are refused."""

import asyncio
import csv
import io
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import urlencode

import pytest
from pyarrow import parquet

from snapshots.answers import replay
from snapshots.domain.model.derived import ABOUT
from snapshots.domain.simulators.samples import two_banks
from snapshots.files.recordings import open_recording
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.reviews import entries, trail
from snapshots.store.whole_log import read_log
from snapshots.web.tables import writing
from snapshots.web.tables.model import (
    Column,
    Table,
    moment,
    number,
    text,
    truth,
    value,
    whole,
)
from snapshots.web.tables.sending import TableFile, file_name
from snapshots.web.tables.writing import FORMATS, Head
from tests.builders import a_run
from tests.web.given import a_client, a_person, a_ready_recording
from tests.web.stored_uploads import parts_of, stored_upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]

COLUMNS = (
    text("name"),
    whole("bytes", unit="B"),
    value("sum"),
    number("share"),
    truth("holds"),
    moment("at"),
    value("state"),
)
AT = datetime(2026, 11, 23, 4, 5, 6, tzinfo=UTC)
FULL = ["a", 2**63 - 1, -(2**80), 0.25, True, AT, {"balance": 2**60}]
NOTHING = [None] * len(COLUMNS)


def head(*columns: Column) -> Head:
    return Head("sums", "the sums", "/recordings/1", 0, columns or COLUMNS)


def written(format: str, *rows: list[object], columns: tuple[Column, ...] = COLUMNS) -> bytes:
    return b"".join(FORMATS[format].write(head(*columns), rows))


def test_json_keeps_numbers_exactly_and_says_what_is_not_known():
    document = json.loads(written("json", FULL, NOTHING))
    full, nothing = document["rows"]
    assert (full["bytes"], full["sum"], full["state"]) == (2**63 - 1, -(2**80), {"balance": 2**60})
    assert full["at"] == "2026-11-23T04:05:06+00:00"
    assert set(nothing.values()) == {None}
    assert document["columns"][1] == {"name": "bytes", "kind": "whole number", "unit": "B"}


def test_parquet_keeps_numbers_exactly_and_units_in_its_metadata():
    table = parquet.read_table(io.BytesIO(written("parquet", FULL, NOTHING)))
    full, nothing = table.to_pylist()
    assert (full["bytes"], full["sum"], full["at"]) == (2**63 - 1, str(-(2**80)), AT)
    assert set(nothing.values()) == {None}
    assert str(table.schema.field("bytes").type) == "int64"
    assert table.schema.field("bytes").metadata == {b"kind": b"whole number", b"unit": b"B"}


def test_csv_keeps_numbers_exactly_and_leaves_empty_what_is_not_known():
    names, full, nothing = written("csv", FULL, NOTHING).decode().splitlines()
    assert names == '"name","bytes (B)","sum","share","holds","at","state"'
    assert full == (
        f'"a",{2**63 - 1},"{-(2**80)}",0.25,true,"2026-11-23T04:05:06+00:00",'
        f'"{{""balance"":{2**60}}}"'
    )
    assert nothing == ",,,,,,"


def test_csv_tells_an_empty_text_from_one_that_is_not_known():
    _, empty, unknown = written(
        "csv", ["", 1], [None, 1], columns=(text("name"), whole("bytes"))
    ).splitlines()
    assert (empty, unknown) == (b'"",1', b",1")


@pytest.mark.parametrize("formula", ["=1+1", "+A1", "-A1", "@SUM(A1)", "\tA1", "\r=1", "＝1+1"])
def test_no_cell_and_no_head_of_csv_is_a_formula(formula):
    columns = (text(formula, "name"), value("state"))
    content = written("csv", [formula, -5], columns=columns).decode()
    assert content.startswith(f'"\'{formula}"')
    assert f'"\'{formula}","-5"' in content


@pytest.mark.parametrize("format", FORMATS)
def test_rows_are_read_as_the_file_is_sent(format, monkeypatch):
    monkeypatch.setattr(writing, "ROWS_OF_A_BATCH", 10)
    read = []

    def rows() -> Iterator[list[object]]:
        for number_ in range(1000):
            read.append(number_)
            yield [str(number_), number_]

    parts = FORMATS[format].write(head(text("name"), whole("bytes")), rows())
    next(parts)
    next(parts)
    assert len(read) <= 20
    for _ in parts:
        pass
    assert len(read) == 1000


@pytest.mark.parametrize("format", FORMATS)
def test_many_batches_make_one_file(format, monkeypatch):
    monkeypatch.setattr(writing, "ROWS_OF_A_BATCH", 3)
    columns = (text("name"), whole("bytes"))
    content = written(format, *([str(n), n] for n in range(10)), columns=columns)
    if format == "csv":
        numbers = [int(line.split(b",")[1]) for line in content.splitlines()[1:]]
    elif format == "json":
        numbers = [row["bytes"] for row in json.loads(content)["rows"]]
    else:
        numbers = parquet.read_table(io.BytesIO(content)).column("bytes").to_pylist()
    assert numbers == list(range(10))


def test_a_server_of_many_requests_sends_part_by_part():
    async def parts() -> list[bytes]:
        return [part async for part in TableFile(iter([b"a", b"b"]))]

    assert asyncio.run(parts()) == [b"a", b"b"]


def test_the_name_of_a_file_says_what_and_of_what():
    table = Table("states", "the states", "states", COLUMNS)
    assert (
        file_name("/recordings/12/snapshots/s1", table, "csv")
        == "cutline-recordings-12-snapshots-s1-states.csv"
    )
    hostile = file_name('/recordings/12/snapshots/"\r\n../x', table, "json")
    assert hostile == "cutline-recordings-12-snapshots-x-states.json"


def asked(page: str, **more: str):
    return a_client(a_person()).get("/api/table", {"page": page, "format": "json", **more})


def test_the_api_sends_the_table_of_a_page_with_its_filter():
    for name in ("one", "two"):
        row = a_ready_recording(a_person())
        type(row).objects.filter(pk=row.pk).update(name=name)
    answer = asked("/?q=two&sort=name")
    document = json.loads(answer.getvalue())
    assert [row["name"] for row in document["rows"]] == ["two"]
    assert document["address"] == "/?q=two&sort=name"
    assert answer["Content-Disposition"] == 'attachment; filename="cutline-recordings.json"'


@pytest.mark.parametrize(
    ("page", "more", "status", "words"),
    [
        ("/nowhere", {}, 404, "no such page"),
        ("/sign-out", {}, 404, "no page with tables"),
        ("https://example.org/jobs", {}, 404, "no page with tables"),
        ("/jobs", {"table": "people"}, 404, "can have: jobs"),
        ("/jobs", {"format": "xlsx"}, 422, "format"),
        ("/recordings/999999/snapshots", {}, 404, "recording"),
        ("/operator/people", {}, 404, ""),
    ],
)
def test_a_call_for_a_table_that_is_not_there_is_refused(page, more, status, words):
    answer = asked(page, **more)
    assert answer.status_code == status
    assert answer["Content-Type"] == "application/problem+json"
    assert words in answer.text


def test_a_page_refuses_a_table_that_it_does_not_have(client):
    client.force_login(a_person())
    answer = client.get("/jobs?table=people&format=csv")
    assert answer.status_code == 404
    assert "The tables that it can have: jobs" in answer.text
    assert client.get("/jobs?format=xlsx").status_code == 422


def of_workbench(table: str, **query: str) -> dict:
    row = a_ready_recording(a_person(), two_banks())
    answer = asked(f"/recordings/{row.pk}?{urlencode(query)}", table=table)
    assert answer.status_code == 200, answer.text
    return json.loads(answer.getvalue())


def test_the_workbench_has_all_events_with_their_places():
    log = two_banks()
    document = of_workbench("events")
    rows = {(row["process"], row["index"]): row for row in document["rows"]}
    assert len(rows) == len(log.events)
    counts: Counter[str] = Counter()
    for event in log.events:
        row = rows[event.process, counts[event.process]]
        counts[event.process] += 1
        assert (row["kind"], row["at"]) == (event.kind, event.at)
        assert row["channel"] == getattr(event, "channel", None)
    assert document["columns"][3] == {"name": "at", "kind": "whole number", "unit": "us"}


def test_a_message_that_has_not_arrived_has_no_receive():
    row = a_ready_recording(a_person(), a_run().send("p->q", "m").log())
    [message] = json.loads(asked(f"/recordings/{row.pk}", table="messages").getvalue())["rows"]
    assert (message["message"], message["sent_index"]) == ("m", 0)
    assert (message["received_index"], message["received_at"]) == (None, None)
    assert message["arrived"] is False


@pytest.mark.parametrize("query", [{"step": "3"}, {"at": "5200"}, {"cut": "2.a"}])
def test_a_cut_of_the_workbench_is_the_one_that_the_api_answers_with(query):
    row = a_ready_recording(a_person(), two_banks())
    question = {"positions": {"A": 2, "B": 10}} if "cut" in query else _numbers(query)
    client = a_client(a_person())
    address = f"/api/recordings/{row.pk}/cuts"
    answer = client.post(address, question, content_type="application/json").json()
    page = f"/recordings/{row.pk}?{urlencode(query)}"
    states, channels = (
        json.loads(asked(page, table=name).getvalue())["rows"]
        for name in ("cut-states", "cut-channels")
    )
    assert {item["process"]: item["position"] for item in states} == answer["positions"]
    assert {item["process"]: item["state"] for item in states} == answer["states"]
    assert {
        item["channel"]: [message["value"] for message in item["messages"]] for item in channels
    } == answer["channels"]


def _numbers(query: dict[str, str]) -> dict[str, int]:
    return {name: int(number_) for name, number_ in query.items()}


@pytest.mark.parametrize(
    "query", [{"at": "x"}, {"step": "1.5"}, {"cut": "1"}, {"cut": "1.-"}, {"at": "1", "step": "1"}]
)
def test_a_cut_that_cannot_be_read_is_refused(query):
    row = a_ready_recording(a_person(), two_banks())
    answer = asked(f"/recordings/{row.pk}?{urlencode(query)}", table="cut-states")
    assert answer.status_code == 422
    assert answer.json()["detail"]


def test_a_derived_recording_claims_no_empty_channel(shared_data, tmp_path):
    case = shared_data / "flink" / "unaligned-orders"
    folder = parts_of(case, ["files", "rest"], tmp_path / "upload")
    row = stored_upload(a_person(), FlinkReader(), folder)
    document = json.loads(asked(f"/recordings/{row.pk}?step=0", table="cut-channels").getvalue())
    assert document["rows"]
    for item in document["rows"]:
        assert item["messages"] is None
        assert item["why_not_known"].startswith("Between checkpoints it is not known")


def a_derived_recording(shared_data, tmp_path):
    case = shared_data / "flink" / "unaligned-orders"
    folder = parts_of(case, ["files", "rest"], tmp_path / "upload")
    return stored_upload(a_person(), FlinkReader(), folder)


def test_each_format_says_what_of_a_derived_recording_is_inferred(shared_data, tmp_path):
    row = a_derived_recording(shared_data, tmp_path)
    log = read_log(open_recording(row), row.name)
    extras = [json.loads(event.extra) for own in log.events.values() for event in own]
    inferred = [extra.get("inferred", False) for extra in extras]
    assert {str(each) for each in inferred} == {"True", "False"}
    page = f"/recordings/{row.pk}"
    document = json.loads(asked(page, table="events").getvalue())
    assert [item["inferred"] for item in document["rows"]] == inferred
    assert {item["derived"] for item in document["rows"]} == {True}
    assert document["derived"] == ABOUT
    table = parquet.read_table(io.BytesIO(asked(page, table="events", format="parquet").getvalue()))
    assert [json.loads(text) for text in table.column("inferred").to_pylist()] == inferred
    assert table.schema.metadata[b"derived"].decode() == ABOUT
    text = asked(page, table="events", format="csv").getvalue().decode()
    lines = list(csv.DictReader(io.StringIO(text)))
    assert [json.loads(line["inferred"]) for line in lines] == inferred
    assert {line["derived"] for line in lines} == {"true"}


def test_messages_of_a_derived_recording_are_inferred_and_not_known_to_have_arrived(
    shared_data, tmp_path
):
    row = a_derived_recording(shared_data, tmp_path)
    document = json.loads(asked(f"/recordings/{row.pk}", table="messages").getvalue())
    assert document["rows"]
    for item in document["rows"]:
        assert item["arrived"] is None
        assert item["sent_inferred"] is True
        assert item["received_inferred"] is (None if item["received_index"] is None else True)


@pytest.mark.parametrize("page", ["/snapshots", "/checkpoints"])
def test_other_tables_of_a_derived_recording_say_that_it_is(shared_data, tmp_path, page):
    row = a_derived_recording(shared_data, tmp_path)
    document = json.loads(asked(f"/recordings/{row.pk}{page}").getvalue())
    assert document["derived"] == ABOUT
    assert {item["derived"] for item in document["rows"]} == {True}


def test_events_of_an_untimed_snapshot_have_no_time():
    log = two_banks()
    header = replace(log.header, extra={"derived": True, "untimed": ["s1"]})
    row = a_ready_recording(a_person(), log._replace(header=header))
    document = json.loads(asked(f"/recordings/{row.pk}", table="events").getvalue())
    times = {(item["snapshot"], item["at"] is None) for item in document["rows"]}
    assert times == {("s1", True), (None, False)}


def test_a_log_of_ones_own_is_not_said_to_be_derived():
    document = of_workbench("events")
    assert "derived" not in document
    assert not {"derived", "inferred"} & set(document["rows"][0])


def test_the_messages_that_a_cut_leaves_out_are_counted(monkeypatch):
    monkeypatch.setattr(replay, "MOST_CONTENTS", 2)
    run = a_run()
    for number_ in range(5):
        run.send("p->q", f"m{number_}")
    row = a_ready_recording(a_person(), run.log())
    document = json.loads(asked(f"/recordings/{row.pk}?step=5", table="cut-channels").getvalue())
    assert [item["left_out"] for item in document["rows"]] == [3, 0]
    assert document["left_out"] == 3


def test_the_file_of_follow_ups_has_those_that_the_page_lists():
    row = a_ready_recording(a_person(), two_banks())
    entries.write(a_person(), row, {"text": "Fix it.", "kind": "follow-up"})
    document = json.loads(asked("/follow-ups").getvalue())
    assert [(item["text"], item["due_on"]) for item in document["rows"]] == [("Fix it.", None)]


def test_a_follow_up_without_text_keeps_its_sentence():
    row = a_ready_recording(a_person(), two_banks())
    looked = trail.record(a_person(), row, "snapshot:s1")
    entry = trail.keep(a_person(), looked, "follow-up", "")
    [item] = json.loads(asked("/follow-ups").getvalue())["rows"]
    assert (item["text"], item["sentence"]) == (None, entry.sentence)
    assert entry.sentence
