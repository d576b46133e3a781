"""Compare the sum over processes and channels with the start: tokens, and conservation.

A state or value counts as the number that it is, or that is the only number of an object.
"""

from collections.abc import Collection
from dataclasses import dataclass

from snapshots.domain.model.values import canonical, number, same_amount
from snapshots.domain.properties.answers import (
    INVARIANT,
    MOST_NAMED,
    OWN,
    Found,
    Property,
    contents_missing,
    state_missing,
    unknown,
)
from snapshots.domain.properties.global_state import GlobalState

Amount = int | float


@dataclass(frozen=True, slots=True)
class _Sum:
    """The sum of what is known.

    Attributes:
        holders: the amounts of the ``processes`` and of the ``channels`` that hold something.
        missing: what is not known or is not a number, one phrase each.
    """

    total: Amount
    holders: dict[str, dict[str, Amount]]
    missing: tuple[str, ...]


def _summed(state: GlobalState) -> _Sum:
    missing: list[str] = []
    processes: dict[str, Amount] = {}
    channels: dict[str, Amount] = {}
    for process, value in state.processes.items():
        _add(processes, process, [value], state_missing(process), missing)
    for channel, values in state.channels.items():
        if values is None:
            missing.append(contents_missing(channel))
        else:
            _add(channels, channel, values, f"a value in {channel}", missing)
    total = sum(processes.values()) + sum(channels.values())
    holders = {
        side: {holder: amount for holder, amount in amounts.items() if amount}
        for side, amounts in (("processes", processes), ("channels", channels))
    }
    return _Sum(total, holders, tuple(missing))


def _add(
    amounts: dict[str, Amount],
    holder: str,
    values: Collection[object],
    name: str,
    missing: list[str],
) -> None:
    numbers = [None if value is None else number(canonical(value)) for value in values]
    if None in numbers:
        missing.append(name if None in values else f"{name}: it is not a number")
    amounts[holder] = sum(item for item in numbers if item is not None)


def _compared(state: GlobalState, start: GlobalState) -> tuple[_Sum, _Sum] | Found:
    """Return the sums now and at the start, or the result that says why there are none."""
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


def look_for_tokens(state: GlobalState, start: GlobalState) -> Found:
    """Tell whether there are fewer or more tokens than at the start."""
    sums = _compared(state, start)
    if isinstance(sums, Found):
        return sums
    now, before = sums
    witness = _witness(now, before)
    there = f"{now.total:,} {'token is' if now.total == 1 else 'tokens are'} there"
    if same_amount(now.total, before.total):
        return Found(False, f"{there}, as many as at the start.", witness)
    kind = "lost" if now.total < before.total else "duplicated"
    count = abs(before.total - now.total)
    sentence = f"{there}, and {before.total:,} at the start: {count:,} {kind}."
    return Found(True, sentence, {**witness, "kind": kind, "count": count})


def look_for_conservation(state: GlobalState, start: GlobalState) -> Found:
    """Tell whether the sum of the recorded state is that of the start."""
    sums = _compared(state, start)
    if isinstance(sums, Found):
        return sums
    now, before = sums
    witness = _witness(now, before)
    if same_amount(now.total, before.total):
        return Found(True, f"The sum is {now.total:,}, as at the start.", witness)
    difference = now.total - before.total
    sentence = f"The sum is {now.total:,}, and {before.total:,} at the start: {difference:+,}."
    return Found(False, sentence, {**witness, "difference": difference})


NUMBERS = "Every state and every value is a number, or an object with exactly one number."

LOSS_IS_FINAL = "lost tokens are not replaced and surplus ones are not removed"
TOKEN = Property(
    name="token",
    title="Token lost or duplicated",
    definition="Processes and channels together do not hold as many tokens as at the start. The "
    f"property is stable if {LOSS_IS_FINAL}.",
    shape=f"{NUMBERS} The number counts tokens.",
    look=look_for_tokens,
    conclusions=OWN,
    stable_if=LOSS_IS_FINAL,
)
CONSERVATION = Property(
    name="conservation",
    title="Conservation of the sum",
    definition="The sum over processes and channels is the same as at the start.",
    shape=NUMBERS,
    look=look_for_conservation,
    conclusions=INVARIANT,
)
