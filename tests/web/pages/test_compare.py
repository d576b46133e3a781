"""Recordings are ticked in a list and compared side by side."""

import re

import pytest

from snapshots.models import Recording
from tests.web.given import a_person, a_ready_recording, signed_in, text_of
from tests.web.pages.test_inventory import words

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]

CLAIM = "Everything is the same but who is restarted"


def named(owner, name, **fields) -> Recording:
    row = a_ready_recording(owner, **fields)
    Recording.objects.filter(pk=row.pk).update(name=name)
    return row


def test_ticked_recordings_of_the_list_are_compared(ada):
    recognised = {"recognised": "by its name"}
    first = named(ada, "monday", parameters=recognised)
    second = named(ada, "tuesday", parameters={"recognised": "by its content"})
    client = signed_in(ada)
    listed = text_of(client.get("/"))
    boxes = re.findall(r'type="checkbox" form="compare" name="recordings" value="(\d+)"', listed)
    assert {int(box) for box in boxes} == {first.pk, second.pk}
    assert re.search(r'<form[^>]* id="compare" method="get" action="/compare">', listed)
    shown = words(client.get("/compare", {"recordings": [first.pk, second.pk]}))
    assert "Recordings compared" in shown
    assert shown.index("monday ready") < shown.index("tuesday ready")
    assert CLAIM not in shown  # these are logs, not two runs of one simulation
    assert "No failure" not in shown
    assert "Parameters that differ" not in shown


def test_runs_that_differ_in_more_than_the_strategy_do_not_claim_to_be_the_same(ada):
    client = signed_in(ada)
    run = {"protocol": "flink", "seed": 1, "failover": "full"}
    rows = [
        named(ada, "one", parameters=run),
        named(ada, "two", parameters=run | {"failover": "region"}),
        named(ada, "three", parameters=run | {"seed": 2}),
    ]
    same = words(client.get(f"/compare?recordings={rows[0].pk},{rows[1].pk}"))
    assert CLAIM in same
    assert "failover full region" in same
    other = words(client.get(f"/compare?recordings={rows[0].pk},{rows[2].pk}"))
    assert CLAIM not in other
    assert "Parameters that differ all others are the same" in other
    assert "Parameter one three seed 1 2" in other


def test_nothing_ticked_or_too_much_is_said_and_others_are_not_shown(ada):
    client = signed_in(ada)
    assert "Tick the recordings" in client.get("/compare").content.decode()
    assert client.get("/compare").status_code == 422
    many = "&".join(f"recordings={number}" for number in range(1, 12))
    assert client.get(f"/compare?{many}").status_code == 422
    hidden = a_ready_recording(a_person("eve@example.org"))
    assert client.get(f"/compare?recordings={hidden.pk}").status_code == 404
