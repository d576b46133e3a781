"""Tell whether an event may occur in a global state, which state follows, or why it may not.

An event e = <p, s, s', M, c> of process p changes its state from s to s', and may send or receive
the message M on the channel c. It may occur in global state S if and only if

1. the state of p in S is s, and
2. if c is directed towards p: the state of c in S is a sequence of messages with M at its head.

In the next global state p is in s'; M is gone from the head of c, or stands at its tail. On a
channel that is not FIFO, M may be anywhere in the channel. Messages are equal if their values are
equal, or their ids where a value is not known. What is not known decides nothing.

Source: Chandy and Lamport, "Distributed Snapshots", ACM TOCS 3(1), 1985, section 2.1.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from snapshots.domain.causality.global_states import Action, Computation, Parcel, State
from snapshots.domain.model.recording import RECEIVE, SEND
from snapshots.domain.model.topology import ChannelId, JsonText

LONGEST = 60  # characters of a state or value in a sentence


@dataclass(frozen=True, slots=True)
class GlobalEvent:
    """The event of the paper that one event of a log is: <p, s, s', M, c>.

    Attributes:
        action: the event of the log: p, s', M and c.
        before: the state s of the process before the event; None if it is not known.
    """

    action: Action
    before: JsonText | None


@dataclass(frozen=True)
class Occurrence:
    """Whether an event may occur in a global state.

    Attributes:
        may: whether it may; None if what is known does not decide.
        reasons: why it may not, or what is not known, one sentence each; empty if it may.
        processes: the states of the processes in the next global state; None unless it may occur.
        channels: what each channel that is not empty holds there; None unless it may occur.
    """

    may: bool | None
    reasons: tuple[str, ...]
    processes: tuple[JsonText | None, ...] | None = None
    channels: Mapping[ChannelId, tuple[Parcel, ...]] | None = None


def events_of(computation: Computation) -> tuple[GlobalEvent, ...]:
    """Return the events of a computation in the order of their processes, with the state before."""
    events = []
    for state, actions in zip(computation.states, computation.actions, strict=True):
        before = state
        for action in actions:
            events.append(GlobalEvent(action, before))
            before = action.state
    return tuple(events)


def may_occur(computation: Computation, state: State, event: GlobalEvent) -> Occurrence:
    """Tell whether an event may occur in a global state of a computation."""
    refused, unknown = _about_the_state(computation, state, event)
    of_channel = _about_the_channel(computation, state, event.action)
    refused += of_channel[0]
    unknown += of_channel[1]
    if refused:
        return Occurrence(False, tuple(refused))
    if unknown:
        return Occurrence(None, tuple(unknown))
    process = event.action.process
    after = (*state.processes[:process], event.action.state, *state.processes[process + 1 :])
    return Occurrence(True, (), after, _channels_after(computation, state, event.action))


def following(states: tuple[State, ...], found: Occurrence) -> int | None:
    """Return the number of the first of some states that is the next global state, or None.

    None also if a state in it is not known.
    """
    if found.processes is None or found.channels is None or None in found.processes:
        return None
    wanted = _contents(found.channels)
    return next(
        (
            state.number
            for state in states
            if state.processes == found.processes and _contents(state.channels) == wanted
        ),
        None,
    )


def _about_the_state(
    computation: Computation, state: State, event: GlobalEvent
) -> tuple[list[str], list[str]]:
    name = computation.processes[event.action.process]
    now = state.processes[event.action.process]
    if now is None:
        return [], [f"The state of {name} here is not known."]
    if event.before is None:
        return [], [f"The log does not say in which state of {name} the event occurred."]
    if now != event.before:
        return [
            f"{name} is in the state {_short(now)}, and the event needs {_short(event.before)}."
        ], []
    return [], []


def _about_the_channel(
    computation: Computation, state: State, action: Action
) -> tuple[list[str], list[str]]:
    """Return what the channel says against a receive, and what of it is not known."""
    if action.kind != RECEIVE or action.channel is None:
        return [], []
    if action.parcel is None:
        return [], [
            "No send in the log explains the receive, so nothing tells which message it is."
        ]
    held = state.channels.get(action.channel, ())
    message = _named(action.parcel)
    if not held:
        return [f"{action.channel} is empty, and the event needs {message} at its head."], []
    is_fifo = next(item.fifo for item in computation.channels if item.id == action.channel)
    ways = held[:1] if is_fifo else held
    if any(parcel.content == action.parcel.content for parcel in ways):
        return [], []
    if not is_fifo:
        return [f"{message} is not in {action.channel}."], []
    return [f"{_named(held[0])} is at the head of {action.channel}, not {message}."], []


def _channels_after(
    computation: Computation, state: State, action: Action
) -> Mapping[ChannelId, tuple[Parcel, ...]]:
    channel, parcel = action.channel, action.parcel
    if channel is None or parcel is None or action.kind not in (SEND, RECEIVE):
        return state.channels
    held = state.channels.get(channel, ())
    if action.kind == SEND:
        held = (*held, parcel)
    else:
        taken = next(n for n, item in enumerate(held) if item.content == parcel.content)
        held = (*held[:taken], *held[taken + 1 :])
    others = {name: items for name, items in state.channels.items() if name != channel}
    return {**others, channel: held} if held else others


def _contents(channels: Mapping[ChannelId, tuple[Parcel, ...]]) -> object:
    return {name: [parcel.content for parcel in held] for name, held in channels.items() if held}


def _named(parcel: Parcel) -> str:
    value = parcel.value
    return str(parcel.id) if value is None else f"{parcel.id} ({_short(value)})"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
