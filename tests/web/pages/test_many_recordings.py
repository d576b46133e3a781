"""Lists with many recordings: queries do not grow with the rows, and pages stay small."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from bench import full_account
from snapshots.jobs import sweeping
from snapshots.models import Recording, Snapshot

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
FEW, MANY = 20, 320
MOST_BYTES = 250_000
OTHERS = 3  # queries that a page makes only where there is more than fits on it


def asked(client, address: str):
    client.get(address)  # what is read once and kept
    with CaptureQueriesContext(connection) as made:
        answer = client.get(address)
    assert answer.status_code == 200, (address, answer.content)
    return answer, len(made)


def test_pages_make_as_many_queries_for_many_recordings_as_for_few():
    queries, grown = {}, {}
    for count in (FEW, MANY):
        client, names = full_account.fill(count)
        for page in full_account.PAGES:
            answer, made = asked(client, page.format(**names))
            size = len(b"".join(answer)) if answer.streaming else len(answer.content)
            assert size <= MOST_BYTES, page
            if made > queries.setdefault(page, made) + OTHERS:
                grown[page] = queries[page], made
    assert not grown


def test_snapshots_of_a_log_are_counted_by_their_verdicts():
    client, names = full_account.fill(FEW)
    row = Recording.objects.get(pk=names["recording"])
    codes = range(1, 1_001)
    Snapshot.objects.bulk_create(
        Snapshot(recording=row, code=code, snapshot=f"s{code}", verdict="lost") for code in codes
    )
    Recording.objects.filter(pk=row.pk).update(snapshot_count=1_001)
    [item] = client.get("/api/recordings?limit=1&q=deploy").json()["items"]
    assert item["outcomes"] == {"lost": 1_000, "consistent": 1}


def test_a_sweep_asks_once_for_all_files_that_rows_name():
    full_account.fill(FEW)
    sweeping.sweep()
    with CaptureQueriesContext(connection) as made:
        sweeping.sweep()
    few = len(made)
    full_account.fill(MANY)
    with CaptureQueriesContext(connection) as made:
        sweeping.sweep()
    assert len(made) == few
