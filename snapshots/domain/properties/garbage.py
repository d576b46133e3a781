"""Detect garbage: objects to which no process and no message in a channel holds a reference.

Nobody can make a reference out of nothing: a process copies one that it holds, or takes one out of
a message. So an object to which nothing refers is never referred to again, and may be freed. A
snapshot that misses the messages in the channels calls an object garbage whose only reference is
on its way.

Source: Chandy and Lamport, "Distributed Snapshots", ACM TOCS 3(1), 1985, section 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from snapshots.domain.properties.answers import (
    MOST_NAMED,
    Conclusions,
    Found,
    Property,
    contents_missing,
    listed,
    state_missing,
    unknown,
)
from snapshots.domain.properties.global_state import GlobalState
from snapshots.domain.simulators.protocols.flooding import is_piece

MOST_SAID = 2  # objects whose keepers a sentence names; the witness has more
OBJECTS, REFERS_TO = "objects", "refers_to"


@dataclass
class Heaps:
    """The objects of a recorded state, and what refers to them.

    Attributes:
        holders: the process that holds each object.
        by_process: the processes that refer to each object.
        by_message: how many messages refer to each object, by channel.
        missing: what is not known about references, one phrase each.
        hidden: what is not known about objects, one phrase each.
    """

    holders: dict[str, str] = field(default_factory=dict)
    by_process: dict[str, list[str]] = field(default_factory=dict)
    by_message: dict[str, dict[str, int]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)

    def is_referred_to(self, name: str) -> bool:
        """Tell whether a known reference leads to an object."""
        return name in self.by_process or name in self.by_message

    def row(self, name: str) -> dict[str, Any]:
        """Return what keeps an object: processes, and channels with how many messages."""
        return {
            "object": name,
            "held_by": self.holders[name],
            "processes": self.by_process.get(name, [])[:MOST_NAMED],
            "channels": dict(list(self.by_message.get(name, {}).items())[:MOST_NAMED]),
        }


def heaps(state: GlobalState) -> Heaps:
    """Collect the objects of a recorded state and the references to them."""
    found = Heaps()
    for process, value in state.processes.items():
        _look_at_process(found, process, value)
    for channel, values in state.channels.items():
        if values is None:
            found.missing.append(contents_missing(channel))
            continue
        for value in values:
            _look_at_message(found, channel, value)
    return found


def _look_at_process(found: Heaps, process: str, value: object) -> None:
    if value is None:
        found.missing.append(state_missing(process))
        found.hidden.append(state_missing(process))
        return
    objects, references = _names(value, OBJECTS), _names(value, REFERS_TO)
    if objects is None:
        found.hidden.append(f'"{OBJECTS}", a list of names, in the state of {process}')
    if references is None:
        found.missing.append(f'"{REFERS_TO}", a list of names, in the state of {process}')
    for name in objects or ():
        found.holders.setdefault(name, process)
    for name in dict.fromkeys(references or ()):
        found.by_process.setdefault(name, []).append(process)


def _look_at_message(found: Heaps, channel: str, value: object) -> None:
    if is_piece(value):
        return
    names = _names(value, REFERS_TO)
    if names is None:
        found.missing.append(f"the references in a message in {channel}")
    for name in dict.fromkeys(names or ()):
        held = found.by_message.setdefault(name, {})
        held[channel] = held.get(channel, 0) + 1


def _names(value: object, key: str) -> list[str] | None:
    named = value.get(key) if isinstance(value, dict) else None
    if not isinstance(named, list) or not all(isinstance(name, str) for name in named):
        return None
    return named


def look(state: GlobalState, start: GlobalState) -> Found:
    """Tell whether some object is garbage, which, and what keeps the others."""
    found = heaps(state)
    loose = [name for name in found.holders if not found.is_referred_to(name)]
    kept = [name for name in found.holders if found.is_referred_to(name)]
    witness: dict[str, object] = {
        "garbage": list(map(found.row, loose[:MOST_NAMED])),
        "garbage_total": len(loose),
        "kept": list(map(found.row, kept[:MOST_NAMED])),
        "kept_total": len(kept),
    }
    if loose and found.missing:
        sentence = f"Nothing that is known refers to {listed(loose)}."
        return _undecided(sentence, found.missing, witness)
    if loose:
        noun = "it is" if len(loose) == 1 else "they are"
        said = f"Nothing refers to {listed(loose)}: {noun} garbage."
        return Found(True, " ".join((said, *_why(found, kept))), witness)
    if found.hidden:
        return _undecided("No object that is known is garbage.", found.hidden, witness)
    if not kept:
        return Found(False, "There is no object.", witness)
    return Found(False, " ".join(("No object is garbage.", *_why(found, kept))), witness)


def _undecided(sentence: str, missing: list[str], witness: dict[str, object]) -> Found:
    """Return an unknown result; what keeps the other objects is known nevertheless."""
    known = {name: value for name, value in witness.items() if name.startswith("kept")}
    return replace(unknown(sentence, tuple(dict.fromkeys(missing))), witness=known)


def _why(found: Heaps, kept: list[str]) -> tuple[str, ...]:
    """Say what keeps the first objects that are alive."""
    if not kept:
        return ()
    said = [f"{name} is kept by {listed(keepers(found.row(name)))}" for name in kept[:MOST_SAID]]
    more = len(kept) - len(said)
    return (f"{'; '.join(said)}{f'; {more:,} more are kept' if more else ''}.",)


def keepers(row: Mapping[str, Any]) -> list[str]:
    """Say what keeps an object of a witness: processes, then messages; nothing keeps garbage."""
    in_channels = (
        f"a message in {channel}" if count == 1 else f"{count:,} messages in {channel}"
        for channel, count in row["channels"].items()
    )
    return [*row["processes"], *in_channels]


NOTHING_IS_FREED = "no process frees an object"
GARBAGE = Property(
    name="garbage",
    title="Some object is garbage",
    definition="No process and no message in a channel refers to some object. Nobody can make a "
    "reference out of nothing, so it stays garbage, and may be freed. The property is stable if "
    f"{NOTHING_IS_FREED}.",
    shape='Every state is {"objects": [names], "refers_to": [names], …}: the objects that the '
    'process holds, and those to which it refers. Every message is {"refers_to": [names], …}.',
    look=look,
    conclusions=Conclusions(
        true="What is garbage here is garbage when the algorithm ends, and stays so until somebody "
        "frees it.",
        false="If nothing was freed meanwhile, no object was garbage when the algorithm began; "
        "nothing more is known.",
    ),
    stable_if=NOTHING_IS_FREED,
)
