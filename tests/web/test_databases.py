"""What comes in is kept exactly and found again, on SQLite as on PostgreSQL."""

import json

import pytest
from django.apps import apps
from django.db import models
from django.db.models.fields.json import KT

from snapshots.fields import JsonField, Line, Prose, clipped
from snapshots.models import EngineCheckpoint, EngineJob, Job, Recording, Snapshot, Topology
from tests.web.given import a_person

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
    """Whether both are the same to the last digit, sign and type; 1 and 1.0 differ."""
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


def test_a_line_that_is_too_long_says_so():
    job = Job.objects.create(kind="ingest", phase="waiting: " + "x" * 100)
    job.refresh_from_db()
    assert len(job.phase) == 60
    assert job.phase.endswith("x…")
    Job.objects.filter(pk=job.pk).update(phase="y" * 60)
    job.refresh_from_db()
    assert job.phase == "y" * 60


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
    """Django's own would differ between the databases; ``session_data`` is written by Django."""
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
