"""The tables of all pages as files: CSV, JSON and Parquet say the same, and what the page says."""

import csv
import io
import json
import re
from collections.abc import Iterator
from datetime import datetime
from html import unescape
from typing import Any

import orjson
import pyarrow as pa
import pytest
from pyarrow import parquet

from snapshots.web.tables.model import MOMENT, NUMBER, TRUTH, VALUE
from snapshots.web.tables.registry import TABLES
from snapshots.web.tables.writing import FORMATS
from tests.stack import ROOT
from tests.web import test_access
from tests.web.access_rows import OPERATOR, filled

pytestmark = pytest.mark.django_db
world = test_access.world

TEMPLATES = ROOT / "templates"
INCLUDED = re.compile(r'table="([\w-]+)"')
MENU = re.compile(r'\{% downloads (?:"([\w-]+)"|table) %\}')
LINK = re.compile(r'<a href="([^"]+table=([\w-]+)&amp;format=(\w+))"')
TAG = re.compile(r"<[^>]*>|\s+")

# Each address with the tables that are there.
ADDRESSES = f"""
/ recordings
/jobs jobs
/recordings/{{late}}/snapshots snapshots
/recordings/{{late}}/snapshots/s1 witnesses states channels counts
/recordings/{{failing}}/checkpoints checkpoints files sinks failures
/recordings/{{flink}}/contents checkpoints files
/recordings/{{flink}}/contents/1?{OPERATOR}&with=0 states subtasks entries keys in-flight sums
/archive/{{archived}} checkpoints slowest
"""
MORE = f"""
/topologies topologies
/topologies/{{topology}} processes
/mappings mappings
/reviews reviews
/archive jobs collectors
/learn/side-by-side events
/learn/modes modes
/recordings/{{failing}}/barriers steps
/account tokens sessions entries
/account/activity entries
/account/notifications webhooks
/account/notifications/webhooks/{{webhook}} deliveries
/teams teams
/teams/{{team}} people invitations entries
/recordings/{{failing}}/checkpoints?checkpoint=1 tasks
/recordings/{{flink}}/contents/1?channel=0 elements
/recordings/{{flink}}/contents/1/bytes states keys-by-bytes keys-by-entries
/recordings/{{flink}}/contents/check checks
/recordings/{{flink}}/contents/1/check files
/recordings/{{flink}}/contents/1/difference?since=0 states subtasks key-groups in-flight
/recordings/{{flink}}/contents/1/difference/keys?since=0&{OPERATOR} keys
/recordings/{{flink}}/contents/1/restore-plan?parallelism=3 variants positions receivers subtasks
/recordings/{{flink}}/bisect?expression=snapshot+%3E%3D+%222%22 states checkpoint-states
/recordings/{{simulated}}/bisect?expression=A+%3C+1000 states
/recordings/{{simulated}}/rules?rule=late_markers&channel=A-%3EB snapshots
/recordings/{{late}}/smallest-part?snapshot=s1 events
/recordings/{{banks}}/states?snapshot=s1 states
/recordings/{{banks}}/properties?property=conservation answers
/compare?recordings={{failing}},{{simulated}} recordings failures
/compare/two?left={{banks}}&right={{simulated}} differences
/archive/{{archived}}/compare?slow=2&healthy=1 checkpoints phases rises
/archive/{{archived}}/checkpoints/0/1 subtasks
"""
OF_OPERATOR = """
/operator/people people teams
/operator/teams/{team} entries
/operator/audit audit
"""

MENUS_OF_SCRIPTS = {"events", "messages", "cut-states", "cut-channels"}  # of the workbench

WITHOUT_A_MENU = {
    "snapshots/upgrade/operator.html": "the answer to a form that holds a file, and no address",
    "snapshots/mappings/mapping.html": "a preview of what is typed in a form",
    "snapshots/post_mortem/document.html": "a file of its own, opened without the server",
    "snapshots/post_mortem/tables.html": "a part of that file, which also holds the data",
    "snapshots/workbench/reading.html": "the workbench, whose panels have menus of their own",
}


def test_each_table_of_a_template_has_a_menu_or_a_reason():
    without = {
        name
        for path in TEMPLATES.rglob("*.html")
        if "<table" in (text := path.read_text())
        and not MENU.search(text)
        and (name := str(path.relative_to(TEMPLATES))) not in WITHOUT_A_MENU
    }
    assert not without


def test_each_menu_names_a_table_that_is_declared():
    declared = {table.name for tables in TABLES.values() for table in tables}
    menus = {
        name
        for path in TEMPLATES.rglob("*.html")
        for name in MENU.findall(path.read_text())
        if name
    }
    assert menus <= declared
    included = {
        name for path in TEMPLATES.rglob("*.html") for name in INCLUDED.findall(path.read_text())
    }
    assert menus | included | MENUS_OF_SCRIPTS == declared


def lines(table: str, person: str, *marks: pytest.MarkDecorator) -> Iterator[Any]:
    for line in table.strip().splitlines():
        address, *names = line.split()
        yield pytest.param(person, address, names, marks=marks, id=address)


@pytest.mark.parametrize(
    ("person", "address", "names"),
    [
        *lines(ADDRESSES, "owner"),
        *lines(MORE, "owner", pytest.mark.long),
        *lines(OF_OPERATOR, "operator", pytest.mark.long),
    ],
)
def test_the_files_of_a_table_agree_with_each_other_and_with_the_page(
    world,
    person,
    address,
    names,
):
    client = world.client(person, by_token=False)
    page = client.get(filled(address, world.things)).content.decode()
    links: dict[str, dict[str, str]] = {}
    for link, name, format in LINK.findall(page):
        links.setdefault(name, {})[format] = unescape(link)
    assert set(links) >= set(names)
    for name in names:
        csv_, json_, parquet_ = (client.get(links[name][format]) for format in FORMATS)
        document = json.loads(json_.getvalue())
        table = parquet.read_table(io.BytesIO(parquet_.getvalue()))
        assert document["rows"]
        assert_same_columns(document, table)
        assert table.to_pylist() == [as_in_parquet(document, row) for row in document["rows"]]
        head, *rows = csv.reader(io.StringIO(csv_.getvalue().decode()))
        assert head == [titled(column) for column in document["columns"]]
        assert rows == [as_in_csv(document, row) for row in document["rows"]]
        assert_the_page_has_its_names(page, document)


def assert_same_columns(document: dict[str, Any], table: pa.Table) -> None:
    assert [(field.name, field.metadata[b"unit"].decode()) for field in table.schema] == [
        (column["name"], column["unit"] or "") for column in document["columns"]
    ]
    assert table.schema.metadata[b"table"].decode() == document["table"]


def titled(column: dict[str, Any]) -> str:
    return f"{column['name']} ({column['unit']})" if column["unit"] else column["name"]


def as_in_parquet(document: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    return {
        column["name"]: parquet_cell(column["kind"], row[column["name"]])
        for column in document["columns"]
    }


def parquet_cell(kind: str, cell: Any) -> Any:
    if cell is None:
        return None
    if kind == MOMENT:
        return datetime.fromisoformat(cell)
    return compact(cell) if kind == VALUE else cell


def compact(value: Any) -> str:
    return orjson.dumps(value).decode()


def as_in_csv(document: dict[str, Any], row: dict[str, Any]) -> list[str]:
    return [csv_cell(column["kind"], row[column["name"]]) for column in document["columns"]]


def csv_cell(kind: str, cell: Any) -> str:
    if cell is None:
        return ""
    if kind == TRUTH:
        return "true" if cell else "false"
    if kind == NUMBER:
        return repr(float(cell)).removesuffix(".0")
    return compact(cell) if kind == VALUE else str(cell)


def assert_the_page_has_its_names(page: str, document: dict[str, Any]) -> None:
    """Check that the page shows the first text of each of the first rows."""
    words = unescape(TAG.sub(" ", page))
    names = [column["name"] for column in document["columns"] if column["kind"] == "text"]
    texts = {row[names[0]] for row in document["rows"][:10] if names and row[names[0]]}
    missing = {text for text in texts if text.split()[0] not in words}
    assert not missing
