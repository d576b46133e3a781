"""Sources and sinks of a checkpoint are recognised by their states, names and places."""

from snapshots.domain.inventory.model import (
    COORDINATOR,
    LISTED,
    UNION,
    CheckpointInventory,
    OperatorInventory,
    StateInventory,
    SubtaskInventory,
)
from snapshots.domain.inventory.reading_again import sinks_of, sources_of


def an_operator(name, *states, **fields):
    return OperatorInventory(name, name, 1, states=states, **fields)


def a_checkpoint(*operators):
    return CheckpointInventory("job", 1, "checkpoint", "completed", operators=operators)


def test_sources_are_known_by_state_name_or_place():
    reader = an_operator("kafka", StateInventory("SourceReaderState", LISTED))
    named = an_operator("Source: old", StateInventory("offsets", UNION))
    first = an_operator("numbers", StateInventory("at", LISTED), vertex="numbers -> map")
    chained = an_operator("map", StateInventory("buffer", LISTED), vertex="numbers -> map")
    found = sources_of(a_checkpoint(reader, named, first, chained), {"numbers -> map"})
    assert [(one.name, one.states) for one in found] == [
        ("kafka", ("SourceReaderState",)),
        ("Source: old", ("offsets",)),
        ("numbers", ("at",)),
    ]
    assert [one.inferred for one in found] == [
        "It has the state SourceReaderState of the reader of a source.",
        'Its name begins with "Source".',
        "No edge leads to it.",
    ]


def test_a_source_without_positions_or_a_finished_one_reads_nothing_again():
    keyed = an_operator("Source: keyed", StateInventory("count", "value"))
    finished = an_operator("Source: done", StateInventory("at", LISTED), finished=True)
    assert sources_of(a_checkpoint(keyed, finished), frozenset()) == ()
    coordinated = an_operator("Source: new", subtasks=(SubtaskInventory(COORDINATOR, 9),))
    [found] = sources_of(a_checkpoint(coordinated), frozenset())
    assert found.coordinated


def test_sinks_with_transactions_commit_again_and_others_write_again():
    committer = an_operator(
        "out: Committer", StateInventory("streaming_committer_raw_states", LISTED, entries=1)
    )
    plain = an_operator("Sink: print")
    last = an_operator("slow", StateInventory("pending", LISTED), vertex="map -> slow")
    before = an_operator("map", vertex="map -> slow")
    found = sinks_of(a_checkpoint(committer, plain, last, before), {"map -> slow"})
    assert [(one.name, one.transactional) for one in found] == [
        ("out: Committer", True),
        ("Sink: print", None),
        ("slow", None),
    ]
    assert "committed (once more)" in found[0].rule
    assert "written a second time" in found[1].rule


def test_an_empty_committer_state_does_not_make_a_sink():
    empty = an_operator("x", StateInventory("streaming_committer_raw_states", LISTED, entries=0))
    lost = an_operator(
        "y", StateInventory("streaming_committer_raw_states", LISTED, complete=False)
    )
    assert [one.name for one in sinks_of(a_checkpoint(empty, lost), frozenset())] == ["y"]


def test_a_later_run_of_the_job_is_known_by_its_name_too():
    sink = an_operator("slow", vertex="map -> slow (run 2)")
    assert len(sinks_of(a_checkpoint(sink), {"map -> slow (run 2)"})) == 1


def test_a_writer_is_part_of_its_committer_and_else_a_sink_of_its_own():
    committed = [an_operator("out: Writer"), an_operator("out: Committer")]
    [sink] = sinks_of(a_checkpoint(*committed), frozenset())
    assert (sink.name, sink.transactional) == ("out: Committer", True)
    [sink] = sinks_of(a_checkpoint(an_operator("out: Writer")), frozenset())
    assert (sink.name, sink.transactional) == ("out: Writer", None)
    assert sink.inferred == 'Its name ends with ": Writer", as that of a part of a sink does.'
