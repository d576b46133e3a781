"""Who presents in a room."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.domain.reviewing.floor import (
    AWAY_SECONDS,
    EMPTY,
    MOST_REQUESTS,
    Floor,
    Seat,
    come_back,
    decline,
    leave,
    offer,
    stop,
    take,
)

ADA, BOB, EVE = Seat(1, "a"), Seat(2, "b"), Seat(3, "e")
ALL = {ADA, BOB, EVE}
PRESENTED = Floor(ADA)


def test_the_first_to_ask_presents_and_the_next_waits():
    floor = take(EMPTY, ADA, ALL, 0)
    assert floor == PRESENTED
    assert take(floor, BOB, ALL, 1) == Floor(ADA, requests=(BOB,))


def test_accepting_a_request_hands_the_floor_over():
    asked = take(take(PRESENTED, BOB, ALL, 0), EVE, ALL, 1)
    assert offer(asked, ADA, BOB.person) == Floor(BOB, requests=(EVE,))


def test_an_offer_is_taken_by_the_person_to_whom_it_was_made_alone():
    offered = offer(PRESENTED, ADA, BOB.person)
    assert offered == Floor(ADA, offered_to=BOB.person)
    assert take(offered, EVE, ALL, 0).presenter == ADA
    assert take(offered, BOB, ALL, 0).presenter == BOB


@pytest.mark.parametrize("seat", [BOB, Seat(ADA.person, "other page")])
def test_only_the_page_that_presents_can_offer_the_floor(seat):
    assert offer(PRESENTED, seat, EVE.person) == PRESENTED


def test_a_person_takes_the_floor_from_another_page_of_their_own():
    phone = Seat(ADA.person, "phone")
    assert take(PRESENTED, phone, {*ALL, phone}, 0).presenter == phone


def test_the_floor_waits_for_a_presenter_whose_connection_ended():
    away = leave(PRESENTED, ADA, 100)
    assert take(away, BOB, {BOB}, 100 + AWAY_SECONDS - 0.1).presenter == ADA
    assert take(away, BOB, {BOB}, 100 + AWAY_SECONDS).presenter == BOB
    assert come_back(away, ADA) == PRESENTED
    assert come_back(away, BOB) == away


def test_the_floor_of_a_page_that_vanished_with_its_server_is_free():
    assert take(PRESENTED, BOB, {BOB}, 0).presenter == BOB


def test_requests_and_offers_are_declined():
    asked = take(offer(PRESENTED, ADA, EVE.person), BOB, ALL, 0)
    assert decline(asked, ADA) == PRESENTED
    assert decline(asked, EVE) == Floor(ADA, requests=(BOB,))
    assert decline(asked, BOB) == asked


def test_stopping_ends_presenting_or_withdraws_a_request():
    asked = take(PRESENTED, BOB, ALL, 0)
    assert stop(asked, BOB) == PRESENTED
    assert stop(asked, ADA) == EMPTY


STEPS = ("take", "offer", "decline", "stop", "leave", "come_back")


@given(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 40), st.integers(0, 40))))
def test_nobody_loses_the_floor_against_their_will(steps):
    """A presenter who is there loses the floor by their own offer or stop alone."""
    seats = [Seat(number % 30, str(number)) for number in range(41)]
    here = set(seats)
    floor = EMPTY
    for now, (step, i, j) in enumerate(steps):
        before, seat = floor, seats[i]
        floor = {
            "take": lambda f, s=seat, n=now: take(f, s, here, n),
            "offer": lambda f, s=seat, to=seats[j].person: offer(f, s, to),
            "decline": lambda f, s=seat: decline(f, s),
            "stop": lambda f, s=seat: stop(f, s),
            "leave": lambda f, s=seat, n=now: leave(f, s, n),
            "come_back": lambda f, s=seat: come_back(f, s),
        }[step](floor)
        own = before.presenter is None or before.presenter.person == seat.person
        assert own or floor.presenter == before.presenter or before.offered_to == seat.person
        assert len({each.person for each in floor.requests}) == len(floor.requests)
        assert len(floor.requests) <= MOST_REQUESTS
