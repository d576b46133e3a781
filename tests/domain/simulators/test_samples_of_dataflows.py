"""The logs of the samples hold what the tours say of them."""

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.failovers.reference import all_failovers
from snapshots.domain.simulators.dataflow_samples import SAMPLES_OF_DATAFLOWS

BY_SLUG = {sample.slug: sample for sample in SAMPLES_OF_DATAFLOWS}


def failures_of(slug: str):
    log = BY_SLUG[slug].log()
    return all_failovers(assemble(log.header, log.events).recording)


def test_splits_that_changed_hands_are_read_again_from_where_the_enumerator_says():
    (failure,) = failures_of("splits-change-hands").reports
    assert [(again.split, again.from_, again.to) for again in failure.re_read] == [
        ("orders[0]", 21, 24),
        ("orders[1]", 22, 24),
        ("orders[2]", 21, 24),
    ]


def test_a_part_of_the_job_goes_back_and_repeats_nothing_then_all_of_it_and_repeats():
    first, second = failures_of("only-what-failed").reports
    assert (first.strategy, second.strategy) == ("upstream", "full")
    assert (first.records_re_read, first.skipped, first.went_on) == (18, 18, 4)
    assert (second.records_re_read, second.skipped, second.went_on) == (54, 0, 0)
    assert [report.sinks[0].duplicates for report in (first, second)] == [0, 53]


def test_a_batch_delivered_twice_is_visible_twice_where_lines_are_appended():
    found = failures_of("uncommitted-batch")
    assert {total.effect.sink: total.effect.duplicates for total in found.sinks} == {
        "lines": 40,
        "table": 0,
    }
