"""Detect that the k-th phase of a computation has ended: nothing of it is at work or in flight.

Phases count from 1. A process works on one phase at a time and never goes back to an earlier one. A
message belongs to the phase in which it is sent. A process that has finished its phase takes it up
again only when a message of that phase or of an earlier one arrives.

Source: Chandy and Lamport, "Distributed Snapshots", ACM TOCS 3(1), 1985, section 1: that the k-th
phase has ended is a stable property, also where the phases themselves follow each other.
"""

from dataclasses import dataclass, field, replace
from functools import partial

from snapshots.domain.properties.answers import (
    MOST_NAMED,
    OWN,
    Found,
    Property,
    contents_missing,
    listed,
    state_missing,
    unknown,
)
from snapshots.domain.properties.global_state import GlobalState
from snapshots.domain.simulators.protocols.flooding import is_piece

FIRST = 1
LAST = 2**63 - 1


@dataclass
class _Remains:
    """What a recorded state holds of the first k phases.

    Attributes:
        working: the phase of each process that has not finished phase k.
        in_flight: how many messages of the first k phases are in each channel.
        missing: what is not known, one phrase each.
    """

    working: dict[str, int] = field(default_factory=dict)
    in_flight: dict[str, int] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)


def look(phase: int, state: GlobalState, start: GlobalState) -> Found:
    """Tell whether a phase has ended.

    One process or message of the phase, or of an earlier one, is enough for false.
    """
    remains = _Remains()
    for process, value in state.processes.items():
        _look_at_process(remains, phase, process, value)
    for channel, values in state.channels.items():
        _look_at_channel(remains, phase, channel, values)
    if remains.working or remains.in_flight:
        return _running(phase, remains)
    if remains.missing:
        sentence = f"Nothing that is known belongs to the phases up to {phase:,}."
        return unknown(sentence, tuple(remains.missing))
    return Found(
        True,
        f"Every process has finished phase {phase:,}, and no message of the phases up to it is in "
        "flight.",
        {"phase": phase, "finished": len(state.processes), "empty": len(state.channels)},
    )


def _look_at_process(remains: _Remains, phase: int, process: str, value: object) -> None:
    if value is None:
        remains.missing.append(state_missing(process))
        return
    now = phase_of(value)
    if now is None:
        remains.missing.append(f'"phase", a whole number from 1, in the state of {process}')
    elif now < phase:
        remains.working[process] = now
    elif now == phase:
        is_active = value.get("active", True) if isinstance(value, dict) else None
        if is_active is True:
            remains.working[process] = now
        elif is_active is not False:
            remains.missing.append(f'"active", true or false, in the state of {process}')


def _look_at_channel(
    remains: _Remains, phase: int, channel: str, values: tuple[object, ...] | None
) -> None:
    if values is None:
        remains.missing.append(contents_missing(channel))
        return
    phases = [phase_of(value) for value in values if not is_piece(value)]
    known = [item for item in phases if item is not None]
    if len(known) < len(phases):
        remains.missing.append(f"the phase of a message in {channel}")
    count = sum(item <= phase for item in known)
    if count:
        remains.in_flight[channel] = count


def phase_of(value: object) -> int | None:
    """Return the phase of a state or of a message; None if it does not say."""
    named = value.get("phase") if isinstance(value, dict) else None
    if isinstance(named, bool) or not isinstance(named, int):
        return None
    return named if named >= FIRST else None


def _running(phase: int, remains: _Remains) -> Found:
    messages = sum(remains.in_flight.values())
    parts = []
    if remains.working:
        verb = "has" if len(remains.working) == 1 else "have"
        parts.append(f"{listed(list(remains.working))} {verb} not finished phase {phase:,}")
    if messages:
        noun = "message" if messages == 1 else "messages"
        verb = "is" if messages == 1 else "are"
        channels = listed(list(remains.in_flight))
        parts.append(f"{messages:,} {noun} of the phases up to {phase:,} {verb} in {channels}")
    return Found(
        False,
        f"{', and '.join(parts)}.",
        {
            "phase": phase,
            "working": dict(list(remains.working.items())[:MOST_NAMED]),
            "working_total": len(remains.working),
            "in_flight": dict(list(remains.in_flight.items())[:MOST_NAMED]),
            "in_flight_total": messages,
        },
    )


PHASES_ONLY_ADVANCE = (
    "processes never go back to an earlier phase, and if a process takes up a finished phase again "
    "only for a message of the phases up to it"
)
PHASE = Property(
    name="phase",
    title="The k-th phase has ended",
    definition="Every process has finished the k-th phase, and no message of the phases up to it "
    f"is in flight. The property is stable if {PHASES_ONLY_ADVANCE}.",
    shape='Every state is {"phase": k, …}: the phase, from 1, on which the process works. With '
    '"active": false it has finished the k-th phase. Every message is {"phase": k, …}: the phase '
    "in which it is sent.",
    look=partial(look, FIRST),
    conclusions=OWN,
    stable_if=PHASES_ONLY_ADVANCE,
)


def of_phase(phase: int) -> Property:
    """Return the property that a phase, numbered from 1, has ended."""
    return replace(PHASE, title=f"Phase {phase:,} has ended", look=partial(look, phase))
