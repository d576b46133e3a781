"""Answers the questions about a stored recording that the API and the websocket ask.

A question that makes no sense raises ``Invalid`` with the name of the field. States and values
leave as the JSON text that they are in the store. If a list is cut short, the answer says by how
much.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import orjson

from snapshots.answers.excerpts import excerpt_of
from snapshots.domain.judging import witnesses
from snapshots.domain.judging.channel_counts import ChannelCounts
from snapshots.domain.judging.findings import Finding
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.derived import is_derived
from snapshots.domain.model.recording import Message, SnapshotId
from snapshots.domain.model.topology import ChannelId, JsonText, ProcessId
from snapshots.payloads.control import control_payload
from snapshots.payloads.cuts import Part
from snapshots.payloads.outlines import outline_of_cut
from snapshots.payloads.window import markers_of, window_payload
from snapshots.problems import Conflict, Invalid, NotFound
from snapshots.store import channel_counts as counting
from snapshots.store import cones as store_cones
from snapshots.store import knowledge as store_knowledge
from snapshots.store.cut import StoredCut
from snapshots.store.excerpts import Excerpt
from snapshots.store.long_texts import LONGEST, excerpt_of_text, shortened
from snapshots.store.mapped import Ints
from snapshots.store.reader import StoredRecording
from snapshots.store.tables import ORDER, TIME
from webapp.operating import observed

MOST_ORPHANS = 100
MOST_STRAYS = 100
MOST_CONTENTS = 100_000  # messages listed in one answer
MOST_OF_A_PART = 500_000  # bytes of the states, and of the values, that a part of a cut lists
MOST_OF_AN_EVENT = 100_000  # bytes of a field that an event has whole
MOST_RECORDED = 1_000  # ids of messages that an event recorded
WIDTHS = range(50, 8_193)  # pixels of a window
LARGEST = 2**63 - 1

_NULL = orjson.Fragment("null")


@observed.cut_seconds.time()
def cut(stored: StoredRecording, question: Mapping[str, Any]) -> dict[str, Any]:
    """Answer whether a cut is consistent and what lies in it, as CutAnswer in payloads/cuts.py.

    Args:
        question: has exactly one of ``positions``, ``at`` and ``step``. Positions are an object by
            process id, where absent ones are 0, or a list in the order of the processes.

    Raises: Invalid.
    """
    excerpt = excerpt_of(stored, question)
    stored_cut = StoredCut(stored.tables, positions_of(stored, question))
    is_whole = not is_derived(stored.manifest.header_extra)
    if excerpt is None:
        contents, omitted = contents_of(stored_cut)
        listed = stored.tables.all_processes
    else:
        contents, omitted = _contents_in(stored_cut, excerpt)
        listed = excerpt.processes_of(stored.tables.all_processes)
    if not is_whole:
        contents = {channel: messages for channel, messages in contents.items() if messages}
    budget = None if excerpt is None else MOST_OF_A_PART
    orphans = () if stored_cut.consistent else stored_cut.orphans(MOST_ORPHANS, budget)
    answer: dict[str, Any] = {
        "consistent": is_consistent(stored, stored_cut),
        "positions": _by_process(stored, stored_cut.positions, listed),
        "at": stored_cut.at,
        "states": _states_of(stored, stored_cut, listed, is_part=excerpt is not None),
        "watermarks": {
            stored.topology.processes[code].id: words
            for code in listed.tolist()
            if (words := stored_cut.watermarks[code]) is not None
        },
        "channels": {
            name: [fragment(m.value) for m in messages] for name, messages in contents.items()
        },
        "messages": {name: [m.id for m in messages] for name, messages in contents.items()},
        "omitted": omitted,
        **_ordinals(question, contents),
        "orphans": [as_json(orphan(stored, m)) for m in orphans],
        "orphans_total": int(stored_cut.orphan_counts.sum()),
        "strays": [asdict(stray) for stray in stored_cut.strays(MOST_STRAYS)],
        "strays_total": stored_cut.stray_count,
        "total": stored_cut.total() if is_whole else None,
    }
    if not stored_cut.consistent:
        answer["nearest"] = {"positions": _by_process(stored, stored_cut.nearest, listed)}
    if excerpt is not None:
        answer["part"] = _part_of(stored_cut, is_whole=is_whole)
        if excerpt.has_outline:
            answer["outline"] = outline_of_cut(stored_cut)
    return answer


def _ordinals(
    question: Mapping[str, Any], contents: Mapping[ChannelId, Sequence[Message]]
) -> dict[str, Any]:
    """Return the numbers of the messages on their channels, if a question asks for them."""
    if question.get("ordinals") is not True:
        return {}
    return {"ordinals": {name: [m.ordinal for m in own] for name, own in contents.items()}}


def _part_of(stored_cut: StoredCut, *, is_whole: bool) -> Part:
    """Return how much a cut holds in all; a derived recording does not tell what is empty."""
    filled = len(stored_cut.filled)
    silent = len(stored_cut.depths) - filled
    return {
        "processes": len(stored_cut.positions),
        "channels": filled,
        "empty_channels": silent if is_whole else 0,
        "unknown_channels": 0 if is_whole else silent,
    }


def is_consistent(stored: StoredRecording, stored_cut: StoredCut) -> bool | None:
    """Tell whether a cut is consistent; None if the log lacks events that decide it."""
    if not stored_cut.consistent:
        return False
    lacks_events = is_derived(stored.manifest.header_extra) or stored_cut.stray_count
    return None if lacks_events else True


def positions_of(stored: StoredRecording, question: Mapping[str, Any]) -> Ints:
    """Return the positions of a cut that a question names as ``cut`` has it. Raises: Invalid."""
    given = [key for key in ("positions", "at", "step") if question.get(key) is not None]
    if len(given) != 1:
        raise Invalid(
            "A cut needs exactly one of positions, at and step.",
            field=given[1] if given else "positions",
        )
    if given == ["at"]:
        return stored.positions_at(at=_instant(question["at"], "at"))
    if given == ["step"]:
        return stored.positions_at(step=min(max(_instant(question["step"], "step"), 0), 2**62))
    return _given_positions(stored, question["positions"])


def _instant(value: Any, field: str) -> int:
    """Return a number as a coordinate; a fraction counts as the whole number below."""
    number = finite(value, field)
    if not -(2**62) <= number <= 2**62:
        raise Invalid(f"{field} is beyond every recording.", field=field)
    return math.floor(number)


def finite(value: Any, field: str) -> int | float:
    """Return ``value`` if it is a finite number. Raises: Invalid."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise Invalid(f"{field} must be a finite number.", field=field)
    return value


def _given_positions(stored: StoredRecording, given: Any) -> Ints:
    processes = stored.topology.processes
    if isinstance(given, Mapping):
        positions = [0] * len(processes)
        for name, value in given.items():
            try:
                positions[stored.tables.process_code(name)] = value
            except KeyError:
                raise Invalid(
                    f"There is no process “{name[:80]}” in this recording.", field="positions"
                ) from None
    elif isinstance(given, Sequence) and not isinstance(given, str):
        positions = list(given)
    else:
        raise Invalid(
            "positions must be an object, or a list with all processes.", field="positions"
        )
    if len(positions) != len(processes):
        raise Invalid(
            f"The recording has {len(processes)} processes, positions has {len(positions)}.",
            field="positions",
        )
    return np.array(_checked(stored, positions), np.int64)


def _checked(stored: StoredRecording, positions: Sequence[Any]) -> Sequence[int]:
    processes, lengths = stored.topology.processes, stored.tables.events.length.tolist()
    for process, position, length in zip(processes, positions, lengths, strict=True):
        if isinstance(position, bool) or not isinstance(position, int):
            raise Invalid(
                f"The position of “{process.id}” is not a whole number.", field="positions"
            )
        if not 0 <= position <= length:
            raise Invalid(
                f"“{process.id}” has {length:,} events: its position must be 0 to {length}, not "
                f"{str(position)[:24]}.",
                field="positions",
            )
    return positions


def contents_of(
    stored_cut: StoredCut,
) -> tuple[dict[ChannelId, tuple[Message, ...]], dict[ChannelId, int]]:
    """Return the messages in every channel, and how many of each channel are not listed."""
    depths = stored_cut.depths
    filled = int(np.count_nonzero(depths)) or 1
    most = None if depths.sum() <= MOST_CONTENTS else max(MOST_CONTENTS // filled, 1)
    contents = stored_cut.all_contents(most)
    omitted = {
        channel.id: int(depth) - len(contents[channel.id])
        for channel, depth in zip(stored_cut.tables.topology.channels, depths, strict=True)
        if depth > len(contents[channel.id])
    }
    return contents, omitted


def _contents_in(
    stored_cut: StoredCut, excerpt: Excerpt
) -> tuple[dict[ChannelId, tuple[Message, ...]], dict[ChannelId, int]]:
    """Return the messages of a part, and how many of each of its channels are not listed."""
    tables, codes = stored_cut.tables, excerpt.channels_of(stored_cut.filled)
    if excerpt.channels is not None:
        codes = excerpt.channels
    elif excerpt.channel is not None:
        codes = np.array([tables.channel_code(excerpt.channel)])
    most = excerpt.most_messages(int(np.count_nonzero(stored_cut.depths[codes])))
    contents = stored_cut.contents_of(codes, most, excerpt.first_message, MOST_OF_A_PART)
    left = {
        name: depth - len(contents[name])
        for code, depth in zip(codes.tolist(), stored_cut.depths[codes].tolist(), strict=True)
        if (name := tables.topology.channels[code].id) in contents
    }
    return contents, {name: count for name, count in left.items() if count}


def orphan(stored: StoredRecording, message: Message) -> Finding:
    """Return the finding for an orphan, in words that fit a cut that no snapshot recorded."""
    channel = stored.topology.channel_by_id[message.channel]
    sentence = (
        f"Not consistent: {channel.target} received {witnesses.named(message)} inside the cut, but "
        f"{channel.source} sent it outside."
    )
    return replace(witnesses.orphan(channel, message), sentence=sentence)


def fragment(text: JsonText | None) -> orjson.Fragment:
    """Return JSON text unchanged, and null for None."""
    return _NULL if text is None else orjson.Fragment(text)


def _by_process(stored: StoredRecording, numbers: Ints, listed: Ints) -> dict[str, int]:
    """Return the numbers of the listed processes, by process id."""
    processes = stored.topology.processes
    codes = listed.tolist()
    return dict(zip((processes[code].id for code in codes), numbers[listed].tolist(), strict=True))


def _states_of(
    stored: StoredRecording, stored_cut: StoredCut, listed: Ints, *, is_part: bool
) -> dict[str, Any]:
    """Return the known states of the listed processes, by process id; shortened in a part."""
    processes = stored.topology.processes
    texts = [stored_cut.states[code] for code in listed.tolist()]
    texts = shortened(texts, MOST_OF_A_PART) if is_part else texts
    return {
        processes[code].id: orjson.Fragment(text)
        for code, text in zip(listed.tolist(), texts, strict=True)
        if text is not None
    }


def event(
    stored: StoredRecording, process: str, index: int, *, whole: bool = False
) -> dict[str, Any]:
    """Return all fields of one event and the message it belongs to. Raises: NotFound.

    Args:
        whole: whether long texts and lists of messages are wanted whole.
    """
    try:
        fields = stored.event(ProcessId(process), index) if index <= LARGEST else None
    except KeyError:
        fields = None
    if fields is None:
        raise NotFound(f"“{process[:80]}” has no event {str(index)[:24]} in this recording.")
    if not whole:
        _shorten(fields)
    for name in ("state", "value", "extra"):
        if fields[name] is not None:
            fields[name] = orjson.Fragment(fields[name])
        else:
            del fields[name]
    return fields


def _shorten(fields: dict[str, Any]) -> None:
    """Shorten what is too long of an event."""
    for name in ("state", "value", "extra"):
        [fields[name]] = shortened([fields[name]], MOST_OF_AN_EVENT)
    label, messages = (fields["label"] or "").encode(), fields["messages"] or ()
    if len(label) > MOST_OF_AN_EVENT:
        fields["label"] = excerpt_of_text(label[:LONGEST], len(label))
    if len(messages) > MOST_RECORDED:
        fields["messages"] = messages[:MOST_RECORDED]
        fields["messages_omitted"] = len(messages) - MOST_RECORDED


def cones(stored: StoredRecording, process: str, index: int) -> dict[str, Any]:
    """Return what happened before an event and what it could influence, as ConesPayload.

    Raises: NotFound.
    """
    event(stored, process, index)
    code, tables = stored.tables.process_code(ProcessId(process)), stored.tables
    past = store_cones.past(tables, code, index)
    future = store_cones.future(tables, code, index)
    length = tables.events.length
    before, after = int(past.sum()) - 1, int((length - future).sum()) - 1
    return {
        "process": process,
        "index": index,
        "past": _edge(stored, past, np.flatnonzero(past), past - 1),
        "future": _edge(stored, future, np.flatnonzero(future < length), future),
        "before": before,
        "after": after,
        "concurrent": int(length.sum()) - before - after - 1,
    }


def channel_counts(stored: StoredRecording, snapshot: str) -> list[ChannelCounts]:
    """Return the counts of section 3.1 of the paper for every channel of a snapshot."""
    read = stored.snapshot(SnapshotId(snapshot))
    return counting.channel_counts(stored.tables, read, list(read.channels))


def knowledge(stored: StoredRecording, snapshot: str) -> dict[str, Any]:
    """Return who knew which pieces of a snapshot when, if its run collects them.

    Raises: Conflict.
    """
    try:
        return store_knowledge.knowledge(stored.tables, SnapshotId(snapshot)).to_json()
    except store_knowledge.TooManyMessages as error:
        raise Conflict(str(error)) from None


def _edge(stored: StoredRecording, positions: Ints, codes: Ints, indices: Ints) -> dict[str, Any]:
    """Return a cone's positions, and ``at`` and ``step`` of its outermost event of each process.

    They are null for a process without an event in the cone.
    """
    rows = stored.tables.events.pick(codes, indices[codes])
    edge: dict[str, Any] = {"positions": positions.tolist()}
    for name in ("at", "step"):
        coordinates: list[int | None] = [None] * len(positions)
        for code, coordinate in zip(codes.tolist(), rows.values(name).tolist(), strict=True):
            coordinates[code] = coordinate
        edge[name] = coordinates
    return edge


def window(stored: StoredRecording, question: Mapping[str, Any]) -> dict[str, Any]:
    """Return what there is to draw between two coordinates (docs/websocket.md, "The window").

    The question has ``from`` <= ``to`` (by default the whole recording), ``width`` in pixels,
    ``axis``, and ``only`` = "markers" to leave out events and messages. Raises: Invalid.
    """
    axis = question.get("axis") or TIME
    if axis not in (TIME, ORDER):
        raise Invalid("axis must be time or order.", field="axis")
    extent = stored.manifest.extent
    first, last = (extent.from_, extent.to) if axis == TIME else (0, extent.steps)
    from_ = _bounded(question.get("from"), first, "from")
    to = _bounded(question.get("to"), last, "to")
    if from_ > to:
        raise Invalid("from must not be greater than to.", field="from")
    width = question.get("width")
    width = 1000 if width is None else finite(width, "width")
    if not WIDTHS[0] <= width <= WIDTHS[-1]:
        raise Invalid(f"width must be {WIDTHS[0]} to {WIDTHS[-1]} pixels.", field="width")
    only = question.get("only") or ""
    if only not in ("", "markers"):
        raise Invalid("only must be markers, or be left out.", field="only")
    found = stored.window(from_, to, int(width), axis)
    control = control_payload(stored.control, found, stored.manifest.extent)
    return window_payload(markers_of(found) if only else found) | {"control": control}


def _bounded(value: Any, default: int, field: str) -> int | float:
    if value is None:
        return default
    number = finite(value, field)
    if abs(number) > 2**62:
        raise Invalid(f"{field} is beyond every recording.", field=field)
    return number
