"""Why a stored snapshot does not end equals why it does not end by the domain's rules."""

import pytest
from hypothesis import given, settings

from snapshots.domain.judging.snapshot_log import snapshot_logs
from snapshots.domain.judging.unended import why_unended
from snapshots.store.unended import why_unended as why_stored
from tests.builders import recorded, runs
from tests.domain.judging.edges import EDGES
from tests.domain.judging.restored import RESTORED
from tests.effort import examples
from tests.store.folders import stored


def assert_equal(recording, **options):
    with stored(recording, **options) as opened:
        for log in snapshot_logs(recording):
            assert why_stored(opened.tables, log.id) == why_unended(recording, log)


@settings(max_examples=examples(40), deadline=None)
@given(runs(max_processes=8))
def test_any_snapshot_does_not_end_for_the_same_causes(log):
    assert_equal(recorded(log), scattered=1)


@pytest.mark.parametrize("make", [*RESTORED, *EDGES], ids=lambda make: make.__name__)
def test_snapshots_at_the_edges_and_behind_restores_have_the_same_causes(make):
    assert_equal(recorded(make()))
