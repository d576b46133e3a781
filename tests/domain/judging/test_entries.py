"""Which message an entry of a recorded channel stands for, where an id is used several times."""

import pytest

from snapshots.domain.judging.entries import messages_of
from snapshots.domain.judging.verdicts import judge
from tests.builders import a_run, recorded


@pytest.mark.parametrize(
    ("entries", "in_flight", "first_sent", "expected"),
    [
        (["m"], [("m", 2)], {"m": 1}, [2]),
        (["m", "m"], [("m", 2), ("m", 3)], {"m": 1}, [2, 3]),
        (["m", "n", "m"], [("m", 2), ("n", 4), ("m", 3)], {}, [2, 4, 3]),
        (["m", "m"], [("m", 2)], {"m": 1}, [2, 1]),
        (["m", "m"], [("m", 2)], {}, [2, 2]),
        (["m"], [], {"m": 1}, [1]),
        (["m"], [], {}, [None]),
        ([], [("m", 2)], {}, []),
    ],
)
def test_the_kth_entry_stands_for_the_kth_message_in_flight(
    entries, in_flight, first_sent, expected
):
    assert messages_of(entries, in_flight, first_sent) == expected


def used_twice():
    run = a_run().send("p->q", "m", 1).receive("p->q", "m").send("p->q", "m", 2)
    return run.record("p", "s1").record("q", "s1").record_channel("p->q", "s1", "m")


def test_totals_take_the_message_that_is_in_flight_and_not_the_first_of_its_id():
    (report,) = judge(recorded(used_twice()))
    assert report.verdict == "consistent"
    assert report.totals.channels == 2
