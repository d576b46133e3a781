"""The page that finds the first state of a series at which a condition holds."""

import re
from urllib.parse import urlencode

import pytest

from snapshots.answers import bisect_past
from snapshots.domain.simulators.samples import SAMPLES
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from tests.web.api.test_bisect import NEGATIVE, counter
from tests.web.given import a_ready_recording, text_of
from tests.web.pages.test_snapshot import words
from tests.web.stored_uploads import stored_upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
BY_SLUG = {sample.slug: sample for sample in SAMPLES}


def shown(client, address: str, status: int = 200, **query: object) -> str:
    return text_of(client.get(f"{address}?{urlencode(query)}"), status)


def test_the_page_says_what_is_first_what_changed_and_why(client, ada):
    row = a_ready_recording(ada, BY_SLUG["deadlock"].log())
    page = shown(client, f"/recordings/{row.pk}/bisect", property="deadlock")
    said = words(page)
    assert "It holds for the first time in snapshot s4." in said
    assert "snapshot s3 false snapshot s4 true, the first" in said
    assert 'Mill process asked: ["Kant"], waits_for: [] asked: [], waits_for: ["Zeno"]' in said
    assert "Kant->Mill channel empty 1 message: request: Kant" in said
    assert "28 of 36 events between the two" in said
    assert f"/recordings/{row.pk}?snapshot=s4&amp;event=33%40Mill" in page


def test_a_past_that_leaves_out_causes_says_so(client, ada, monkeypatch):
    row = a_ready_recording(ada, BY_SLUG["deadlock"].log())
    address = f"/recordings/{row.pk}/bisect"
    whole = words(shown(client, address, property="deadlock"))
    assert "since the one before can have influenced them; they are among them" in whole
    monkeypatch.setattr(bisect_past, "MOST_CAUSES", 2)
    part = words(shown(client, address, property="deadlock"))
    assert re.search(r"can have influenced the first 2 of the [3-9] events; they are", part)


def test_states_that_were_not_evaluated_are_counted_in_the_strip(client, ada):
    row = a_ready_recording(ada, counter(range(60)))
    address = f"/recordings/{row.pk}/bisect"
    said = words(shown(client, address, expression="A >= 41", stable=1))
    assert "snapshots not evaluated" in said
    whole = words(shown(client, address, expression="A >= 41"))
    assert "snapshot s0 false 38 snapshots false snapshot s39 false snapshot s40 false" in whole
    assert "snapshot s41 true, the first snapshot s42 true 16 snapshots true" in whole
    assert "35 more answers; the API gives all." in whole


def test_what_was_typed_stays_and_the_error_points_at_it(client, ada):
    row = a_ready_recording(ada)
    page = shown(client, f"/recordings/{row.pk}/bisect", 422, expression="A + <b>", stable=1)
    assert "A + &lt;b&gt;</textarea>" in page
    assert "Column 5" in words(page)
    assert 'value="1" checked' in page
    phase = shown(client, f"/recordings/{row.pk}/bisect", 422, property="phase", phase="x")
    assert "phase must be a whole number from 1" in words(phase)


def test_pages_lead_to_the_search(client, ada):
    row = a_ready_recording(ada)
    for page in ("properties", "snapshots", "answer"):
        assert f"/recordings/{row.pk}/bisect" in shown(client, f"/recordings/{row.pk}/{page}")
    assert f"/recordings/{row.pk}/bisect" in shown(client, f"/recordings/{row.pk}")


def test_an_upload_and_its_archived_job_are_searched(client, ada, shared_data):
    row = stored_upload(ada, FlinkReader(), shared_data / "flink" / "bank-unaligned")
    job = ada.enginejob_set.get()
    assert f"/recordings/{row.pk}/bisect" in shown(client, f"/recordings/{row.pk}/contents")
    assert f"/archive/{job.pk}/bisect" in shown(client, f"/archive/{job.pk}")
    form = shown(client, f"/recordings/{row.pk}/bisect")
    assert (
        "For example <code>processes[&quot;deposit&quot;][&quot;transfers&quot;] &gt;= 1055" in form
    )
    page = shown(client, f"/recordings/{row.pk}/bisect", expression=NEGATIVE)
    said = words(page)
    assert "It holds for the first time in checkpoint 2." in said
    assert f"/recordings/{row.pk}/contents/1/difference?since=0" in page
    assert "The causal past of the change is not known: checkpoints hold states" in said
    snapshots = words(
        shown(client, f"/recordings/{row.pk}/bisect", expression="true", series="snapshots")
    )
    assert "It holds already in snapshot 1" in snapshots
    archived = words(shown(client, f"/archive/{job.pk}/bisect", expression=NEGATIVE))
    assert "It holds for the first time in unaligned checkpoint 2." in archived
