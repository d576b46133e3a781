"""Sums over processes and channels against the start: tokens lost or duplicated, money conserved.

A state or value counts as the number that it is, or that it carries as the only one of an object.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from snapshots.domain.model.values import canonical, number
from snapshots.domain.properties.answers import (
    INVARIANT,
    MOST_NAMED,
    Found,
    Property,
    contents_missing,
    state_missing,
    unknown,
)
from snapshots.domain.properties.global_state import GlobalState

_NEAR = 1e-9  # relative: sums of fractions depend on their order


@dataclass(frozen=True, slots=True)
class _Sum:
    """Of what is known. holders: the processes and channels that hold something, with how much."""

    total: int | float
    holders: dict[str, dict[str, int | float]]
    missing: tuple[str, ...]


def _summed(state: GlobalState) -> _Sum:
    missing: list[str] = []
    processes: dict[str, int | float] = {}
    channels: dict[str, int | float] = {}
    for process, value in state.processes.items():
        _add(processes, process, [value], state_missing(process), missing)
    for channel, values in state.channels.items():
        if values is None:
            missing.append(contents_missing(channel))
        else:
            _add(channels, channel, values, f"a value in {channel}", missing)
    total = sum(processes.values()) + sum(channels.values())
    held = {"processes": _held(processes), "channels": _held(channels)}
    return _Sum(total, held, tuple(missing))


def _add(
    sums: dict[str, int | float],
    holder: str,
    values: Iterable[object],
    name: str,
    missing: list[str],
) -> None:
    numbers = [None if value is None else number(canonical(value)) for value in values]
    if None in numbers:
        is_known = all(value is not None for value in values)
        missing.append(f"{name}: it is no number" if is_known else name)
    sums[holder] = sum(item for item in numbers if item is not None)


def _held(sums: dict[str, int | float]) -> dict[str, int | float]:
    return {holder: amount for holder, amount in list(sums.items()) if amount}


def _compared(state: GlobalState, start: GlobalState) -> tuple[_Sum, _Sum] | Found:
    """Both sums, or why there are none."""
    now, before = _summed(state), _summed(start)
    missing = tuple(f"{item}, at the start" for item in before.missing) + now.missing
    if missing:
        return unknown("The sum cannot be formed.", missing)
    return now, before


def _witness(now: _Sum, before: _Sum) -> dict[str, object]:
    return {
        "total": now.total,
        "start": before.total,
        **{side: dict(list(held.items())[:MOST_NAMED]) for side, held in now.holders.items()},
    }


def _same(one: int | float, other: int | float) -> bool:
    if isinstance(one, int) and isinstance(other, int):
        return one == other
    return math.isclose(one, other, rel_tol=_NEAR)


def look_for_tokens(state: GlobalState, start: GlobalState) -> Found:
    """True: not as many tokens as at the start."""
    sums = _compared(state, start)
    if isinstance(sums, Found):
        return sums
    now, before = sums
    witness = _witness(now, before)
    there = f"{now.total:,} {'token is' if now.total == 1 else 'tokens are'} there"
    if _same(now.total, before.total):
        return Found(False, f"{there}, as many as at the start.", witness)
    kind = "lost" if now.total < before.total else "duplicated"
    count = abs(before.total - now.total)
    sentence = f"{there}, and {before.total:,} at the start: {count:,} {kind}."
    return Found(True, sentence, {**witness, "kind": kind, "count": count})


def look_for_conservation(state: GlobalState, start: GlobalState) -> Found:
    """Compare the sum of a recorded state with the sum at the start."""
    sums = _compared(state, start)
    if isinstance(sums, Found):
        return sums
    now, before = sums
    witness = _witness(now, before)
    if _same(now.total, before.total):
        return Found(True, f"The sum is {now.total:,}, as at the start.", witness)
    difference = now.total - before.total
    sentence = f"The sum is {now.total:,}, and {before.total:,} at the start: {difference:+,}."
    return Found(False, sentence, {**witness, "difference": difference})


NUMBERS = "Every state and every value is a number, or an object with exactly one number."

TOKEN = Property(
    name="token",
    title="Token lost or duplicated",
    definition="Processes and channels together do not hold as many tokens as at the start. It is "
    "stable where a lost token is not made anew and a second one is not removed.",
    shape=f"{NUMBERS} The number is how many tokens are there.",
    look=look_for_tokens,
)
CONSERVATION = Property(
    name="conservation",
    title="Conservation of the sum",
    definition="Processes and channels together add up to what was there at the start.",
    shape=NUMBERS,
    look=look_for_conservation,
    conclusions=INVARIANT,
)
