"""How a task of Flink combines the watermarks of its inputs: the step functions."""

from snapshots.domain.simulators.protocols.flink_watermarks import (
    BEGINNING,
    Advance,
    Status,
    on_status,
    on_watermark,
    start,
)


def effects_of(*news, channels=("a", "b"), watermark=BEGINNING):
    """Return the effects of each piece of news: a watermark, or whether the sender is idle."""
    valve = start(channels, watermark)
    effects = []
    for channel, item in news:
        step = on_status if isinstance(item, bool) else on_watermark
        valve, own = step(valve, channel, item)
        effects.append(own)
    return effects


def test_a_task_has_the_smallest_watermark_of_its_inputs():
    assert effects_of(("a", 5), ("b", 3), ("b", 9), ("a", 7)) == [
        (),
        (Advance(3),),
        (Advance(5),),
        (Advance(7),),
    ]


def test_a_watermark_never_falls():
    assert effects_of(("a", 5), ("a", 4), ("a", 5), channels=("a",)) == [(Advance(5),), (), ()]


def test_an_idle_input_is_not_waited_for_and_takes_part_again_when_it_has_caught_up():
    assert effects_of(("a", 5), ("b", True), ("a", 8), ("b", False), ("b", 6), ("a", 9)) == [
        (),
        (Advance(5),),
        (Advance(8),),
        (),
        (),
        (Advance(9),),
    ]
    caught_up = effects_of(("a", 5), ("b", True), ("b", False), ("b", 6), ("a", 9))
    assert caught_up[-1] == (Advance(6),)


def test_a_task_is_idle_when_all_its_inputs_are_and_rises_to_the_latest_of_them():
    assert effects_of(("a", 5), ("b", 3), ("b", True), ("a", True), ("b", False)) == [
        (),
        (Advance(3),),
        (Advance(5),),
        (Status(True),),
        (Status(False),),
    ]
    assert effects_of(("a", 5), ("b", 3), ("a", True), ("b", True))[-1] == (
        Advance(5),
        Status(True),
    )


def test_a_watermark_that_a_restore_has_brought_back_is_not_sent_again():
    assert effects_of(("a", 5), ("a", 9), channels=("a",), watermark=7) == [(), (Advance(9),)]
