"""A small recording that is read from the store as a whole says what the log said."""

from hypothesis import given, settings

from snapshots.domain.judging.verdicts import judge
from snapshots.domain.proving.evidence import Wanted, evidence
from snapshots.store.whole_log import event_count, read_log
from tests.builders import recorded, runs
from tests.effort import examples
from tests.store.folders import stored


@settings(max_examples=examples(15), deadline=None)
@given(runs(max_processes=6))
def test_a_stored_log_is_judged_as_it_was_and_is_the_same_evidence(log):
    recording = recorded(log)
    wanted = Wanted()
    for report in judge(recording):
        wanted.add_snapshot(recording, report)
    with stored(recording, scattered=1) as opened:
        read = read_log(opened, recording.name)
        assert event_count(opened) == len(log.events)
        assert read.topology == recording.topology
        assert (read.messages, read.markers) == (recording.messages, recording.markers)
        assert judge(read) == judge(recording)
        assert evidence(read, wanted) == evidence(recording, wanted)
