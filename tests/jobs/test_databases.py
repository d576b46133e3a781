"""Any input is stored exactly and found again, on SQLite and on PostgreSQL."""

import json

import pytest
from django.apps import apps
from django.db import OperationalError, connection, connections, models, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.models.fields.json import KT
from django.test import Client

from snapshots.fields import JsonField, Line, Prose, clipped
from snapshots.jobs import running
from snapshots.models import (
    LONGEST_PHASE,
    EngineCheckpoint,
    EngineJob,
    Job,
    Recording,
    Snapshot,
    Topology,
)
from tests.web.given import a_client, a_file, a_person, a_ready_recording

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]

STRANGE = {
    "a NUL": "before\0after",
    "\0": "a NUL in a key",
    "what looks like one": "\\u0000 \\\\u0000",
    "half of a pair": "\ud800",
    "a pair": "\N{GRINNING FACE}",
    "beyond 64 bits": 10**30,
    "the largest": 2**64 - 1,
    "a float that is whole": 1e22,
    "a float with an end": 1.0,
    "less than nothing": -0.0,
    "a small one": 5e-324,
    "nothing": None,
    "a text": "null",
    "nested": [[[{"deep": [True, False, None, "\0"]}]]],
}


def same(one: object, other: object) -> bool:
    """Tell whether both are the same to the last digit, sign and type; 1 and 1.0 differ."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


@pytest.mark.parametrize("value", [STRANGE, [STRANGE, "\0"], "\0", "null", "1", 1, 1e22, [], False])
def test_json_comes_back_as_it_was(value):
    row = Topology.objects.create(name="strange", definition=value)
    assert same(Topology.objects.get(pk=row.pk).definition, value)
    Topology.objects.filter(pk=row.pk).update(definition={"again": value})
    assert same(Topology.objects.get(pk=row.pk).definition, {"again": value})
    [listed] = Topology.objects.filter(pk=row.pk).values_list("definition", flat=True)
    assert same(listed, {"again": value})


def test_many_rows_of_json_come_back_as_they_were():
    recording = Recording.objects.create(name="many")
    rows = [
        Snapshot(recording=recording, code=code, snapshot=f"s{code}", verdicts=[STRANGE, code])
        for code in range(5)
    ]
    Snapshot.objects.bulk_create(rows)
    for row in Snapshot.objects.filter(recording=recording):
        assert same(row.verdicts, [STRANGE, row.code])
        row.positions = {"\0": row.code}
        row.totals = None
        row.save()
    Snapshot.objects.bulk_update(rows, ["verdicts"])
    assert recording.snapshots.filter(totals__isnull=True).count() == 5
    assert recording.snapshots.get(code=3).positions == {"\0": 3}


def test_a_key_of_a_document_is_read_by_the_database():
    recording = Recording.objects.create(name="r", parameters={"failures": [1], "seed": 7})
    Recording.objects.create(name="none", parameters={"seed": 8})
    Job.objects.create(kind="predicate", result={"possibly": "true", "place": {"first": 1}})
    answers = Job.objects.values_list(KT("result__possibly"), "result__place")
    assert list(answers) == [("true", {"first": 1})]
    assert Recording.objects.get(parameters__failures__isnull=False) == recording


def test_a_nul_in_a_text_is_marked_and_found_again():
    recording = Recording.objects.create(name="a\0b", source_name="\ud800.jsonl")
    recording.refresh_from_db()
    assert (recording.name, recording.source_name) == ("a␀b", "\N{REPLACEMENT CHARACTER}.jsonl")
    assert Recording.objects.filter(name="a\0b").get() == recording


def test_a_line_that_is_too_long_is_clipped_visibly():
    job = Job.objects.create(kind="ingest", phase="waiting: " + "x" * LONGEST_PHASE)
    job.refresh_from_db()
    assert len(job.phase) == LONGEST_PHASE
    assert job.phase.endswith("x…")
    Job.objects.filter(pk=job.pk).update(phase="y" * LONGEST_PHASE)
    job.refresh_from_db()
    assert job.phase == "y" * LONGEST_PHASE


def test_several_long_lines_are_written_at_once():
    engine_job = EngineJob.objects.create(owner=a_person(), engine="flink", key="k")
    rows = [EngineCheckpoint(job=engine_job, number=n, version=1, status="failed") for n in (1, 2)]
    EngineCheckpoint.objects.bulk_create(rows)
    for row in rows:
        row.slowest, row.failure = "map\0" * 100, "\0" * 3
    EngineCheckpoint.objects.bulk_update(rows, ["slowest", "failure"])
    kept = EngineCheckpoint.objects.filter(failure="\0\0\0")
    assert [row.slowest for row in kept] == [clipped("map␀" * 100, 220)] * 2


def test_every_column_of_free_text_and_json_is_one_of_ours():
    """Django's own columns differ between databases; only Django writes ``session_data``."""
    columns = {
        f"{model._meta.label}.{field.name}": type(field)
        for model in apps.get_models()
        if model._meta.app_label in ("snapshots", "accounts")
        for field in model._meta.local_fields
    }
    django = (models.JSONField, models.TextField)
    theirs = [name for name, kind in columns.items() if kind in django]
    assert theirs == ["accounts.Session.session_data"]
    assert {JsonField, Prose, Line} <= set(columns.values())


BEFORE = [("snapshots", "0008_fair_turns_and_identity")]


@pytest.fixture
def tables_of_before(transactional_db):
    """Migrate the tables back to before migration 0009, and forward again after the test."""
    executor = MigrationExecutor(connection)
    executor.migrate(BEFORE)
    yield executor.loader.project_state(BEFORE).apps.get_model
    forward()


def forward() -> None:
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


def type_on_postgres(model: type[models.Model], column: str) -> str:
    asked = "select data_type from information_schema.columns where (table_name, column_name) = "
    with connection.cursor() as cursor:
        cursor.execute(f"{asked} (%s, %s)", [model._meta.db_table, column])
        return cursor.fetchone()[0]


def test_older_rows_keep_their_values_and_take_values_that_were_refused_before(tables_of_before):
    plain = {"a": [1, 1.5, "\u00e9", None], "b": {}}
    old = tables_of_before("snapshots", "Recording")
    pk = old.objects.create(name="old", parameters=plain).pk
    forward()
    row = Recording.objects.get(pk=pk)
    assert (row.parameters, row.defects, row.error) == (plain, [], None)
    if connection.vendor == "postgresql":
        assert type_on_postgres(Recording, "parameters") == "json"
    row.error = STRANGE
    row.save()
    assert same(Recording.objects.get(pk=pk).error, STRANGE)
    row.delete()


def a_log_with_nuls() -> bytes:
    """Write a transfer whose states and message hold NUL, and whose second state is mismatched."""
    head = {
        **{"kind": "header", "format": "cutline", "version": 1, "name": "NUL", "time_unit": "us"},
        "processes": [{"id": "A", "state": "full\0"}, {"id": "B", "state": {"\0": "empty"}}],
        "channels": [{"id": "A->B", "source": "A", "target": "B"}],
    }
    channel = {"channel": "A->B"}
    message = {**channel, "message": "m\0", "value": ["\0"]}
    lines = [
        head,
        {"kind": "send", "process": "A", **message, "state": "half\0", "at": 10},
        {"kind": "record_state", "process": "A", "snapshot": "s1", "state": "half\0", "at": 20},
        {"kind": "record_state", "process": "B", "snapshot": "s1", "state": "wrong\0", "at": 25},
        {"kind": "receive", "process": "B", **message, "state": "half\0", "at": 30},
        {
            **{"kind": "record_channel", "process": "B", "snapshot": "s1", **channel},
            **{"messages": ["m\0"], "at": 40},
        },
    ]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


@pytest.mark.spark
@pytest.mark.django_db(transaction=True)  # the heartbeat sees only what is committed
def test_a_log_with_nuls_is_ingested_shown_and_restored():
    ada = a_person()
    api, browser = a_client(ada), Client()
    browser.force_login(ada)
    accepted = api.post("/api/recordings", {"file": a_file(a_log_with_nuls(), "NUL.jsonl")}).json()
    running.run(accepted["job"])
    address = f"/api/recordings/{accepted['id']}"
    assert api.get(address).json()["status"] == "ready", api.get(address).json()["error"]
    snapshot = api.get(f"{address}/snapshots/s1").json()
    assert snapshot["verdict"] == "state-mismatch"
    assert snapshot["recorded"]["processes"] == {"A": "half\0", "B": "wrong\0"}
    assert snapshot["processes"] == {"A": "half\0", "B": {"\0": "empty"}}
    restore = api.post(f"{address}/snapshots/s1/restore").json()["job"]
    running.run(restore)
    assert api.get(f"/api/jobs/{restore}").json()["state"] == "done"
    for page in ("", "/snapshots/s1", "/predicates"):
        assert browser.get(f"/recordings/{accepted['id']}{page}").status_code == 200, page


@pytest.mark.parametrize(
    "address",
    [
        "/?q=%00",
        "/recordings/{}?q=%00&sort=%00&page=%00",
        "/recordings/{}/snapshots?id=%00",
        "/recordings/{}/predicates?expression=%00",
        "/recordings/{}/properties?expression=%00",
        "/recordings/{}/proof?snapshot=%00",
        "/topologies?q=%00",
        "/archive?q=%00",
        "/api/recordings?q=%00",
        "/api/recordings/{}/snapshots/%00",
    ],
)
def test_a_request_with_a_nul_in_its_address_is_answered(address):
    ada = a_person()
    browser = Client(raise_request_exception=False)
    browser.force_login(ada)
    pk = a_ready_recording(ada).pk
    client = a_client(ada) if address.startswith("/api/") else browser
    assert client.get(address.format(pk)).status_code < 500


def test_a_recording_is_found_by_the_mark_of_its_nul():
    ada = a_person()
    Recording.objects.create(owner=ada, name="a\0b")
    for text in ("\0", "␀"):
        found = a_client(ada).get("/api/recordings", {"q": text}).json()
        assert [item["name"] for item in found["items"]] == ["a␀b"]


ON_POSTGRES = pytest.mark.only("postgres", reason="SQLite has no server that restarts.")


@pytest.fixture
def broken_connection(transactional_db):
    """End this thread's connection on the server, as a restart of it does."""

    def end() -> None:
        other = connections.create_connection("default")
        with other.cursor() as cursor:
            pid = connection.connection.info.backend_pid
            cursor.execute("select pg_terminate_backend(%s, 10000)", [pid])
        other.close()

    return end


@ON_POSTGRES
def test_an_idle_connection_is_replaced_if_the_server_closed_it(broken_connection, monkeypatch):
    monkeypatch.setattr("webapp.postgres.base.REST_SECONDS", 0.0)
    Topology.objects.create(name="before", definition={})
    broken_connection()
    assert Topology.objects.filter(name="before").exists()
    broken_connection()
    with transaction.atomic():
        Topology.objects.create(name="after", definition={})
    assert Topology.objects.filter(name="after").exists()


@ON_POSTGRES
def test_a_connection_that_broke_under_a_statement_is_replaced_for_the_next(broken_connection):
    assert not Topology.objects.filter(name="before").exists()
    broken_connection()
    with pytest.raises(OperationalError):
        Topology.objects.create(name="lost", definition={})
    Topology.objects.create(name="after", definition={})
    assert list(Topology.objects.filter(owner=None, slug=None).values_list("name")) == [("after",)]


@transaction.atomic
def create_halves(between) -> None:
    Topology.objects.create(name="first half", definition={})
    between()
    Topology.objects.create(name="second half", definition={})


@ON_POSTGRES
def test_a_transaction_is_committed_as_a_whole_or_not_at_all(broken_connection, monkeypatch):
    monkeypatch.setattr("webapp.postgres.base.REST_SECONDS", 0.0)
    with pytest.raises(OperationalError):
        create_halves(between=broken_connection)
    assert not Topology.objects.filter(name__endswith="half").exists()
