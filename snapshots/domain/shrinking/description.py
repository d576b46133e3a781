"""Say in the header of a part what it is a part of, and what it does not show."""

from collections.abc import Mapping
from dataclasses import replace

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.judging.findings import CONSISTENT
from snapshots.domain.model.defects import times
from snapshots.domain.model.derived import is_derived
from snapshots.domain.model.recording import SnapshotId
from snapshots.domain.shrinking.part import Part
from snapshots.domain.shrinking.whole import Whole
from snapshots.domain.shrinking.witness import Witness

PART_OF = "part_of"
PROVES_NOTHING = (
    "Its witness is a witness in the whole recording, too. What else this part shows proves "
    "nothing about the rest."
)
CONSISTENT_PART = (
    "A consistent snapshot has no witness, so this part only shows the smallest case of it. It "
    "proves nothing about the whole recording."
)
_OF_DERIVED = ("derived", "engine", "untimed", "epoch", "how_far", "flaws")
_BY_SNAPSHOT = ("why_empty", "why_unknown")
_LONGEST_NAME = 150  # characters of the whole recording's name


def bare_header(header: Header, snapshot: SnapshotId) -> Header:
    """Return the header of a part with what judging a derived recording needs."""
    if not is_derived(header.extra):
        return replace(header, extra={})
    extra = {name: header.extra[name] for name in _OF_DERIVED if name in header.extra}
    for name in _BY_SNAPSHOT:
        if name in header.extra:
            extra[name] = _of_snapshot(header.extra[name], snapshot)
    return replace(header, extra=extra)


def _of_snapshot(words: object, snapshot: SnapshotId) -> object:
    return words.get(snapshot) if isinstance(words, Mapping) else words


def header_of(whole: Whole, witness: Witness, part: Part) -> Header:
    """Return the header of a part, which says what it is a part of."""
    header = whole.header
    own: dict[str, object] = {
        "name": header.name,
        "events": whole.event_count,
        "processes": len(header.topology.processes),
        "channels": len(header.topology.channels),
        "snapshot": whole.snapshot,
        "witness": dict(witness.finding),
    }
    if PART_OF in header.extra:
        own[PART_OF] = header.extra[PART_OF]
    name = f"{header.name[:_LONGEST_NAME]}, {witness.verdict} of {whole.snapshot}"
    extra = {**part.header.extra, PART_OF: own, "notes": notes(whole, witness, part)}
    return replace(part.header, name=name, extra=extra)


def notes(whole: Whole, witness: Witness, part: Part) -> list[str]:
    """Return the sentences about a part: what was left out, and what that means."""
    is_consistent = witness.verdict == CONSISTENT
    lists = (
        f"The recorded lists of channels had {times(part.left_out_of_lists, 'more message')}, "
        "which were left out with their events. Each list says how many under “original”."
    )
    return [
        f"This is a part of the recording “{whole.header.name}”. {_sizes(whole, part)} "
        "Everything else was left out.",
        CONSISTENT_PART if is_consistent else PROVES_NOTHING,
        "The field “original” of each event has the event’s index in the whole recording, and the "
        "logged state where events that were left out changed it afterwards.",
        *([lists] if part.left_out_of_lists else ()),
    ]


def _sizes(whole: Whole, part: Part) -> str:
    topology, kept = whole.header.topology, part.header.topology
    return (
        f"It has {len(part.events):,} of {times(whole.event_count, 'event')}, "
        f"{len(kept.processes):,} of {times(len(topology.processes), 'process', 'processes')} and "
        f"{len(kept.channels):,} of {times(len(topology.channels), 'channel')}."
    )
