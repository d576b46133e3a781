"""Turn a stored snapshot into the rows of its page: recorded beside recomputed."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from snapshots import quantities
from snapshots.domain.model.derived import is_derived, why_empty, why_unknown
from snapshots.domain.model.recording import Message, MessageId
from snapshots.domain.model.topology import ChannelId, JsonText
from snapshots.domain.shrinking import witness as shrinking
from snapshots.store.stored_snapshot import SnapshotChannel, StoredSnapshot
from snapshots.web.pages import links

MOST_MESSAGES = 200  # of one channel, on the page; the API gives all
LONGEST_VALUE = 10_000  # characters of JSON that are shown whole
SHOWN_OF_LONGER = 1_000


@dataclass(frozen=True)
class StateRow:
    """The state of one process.

    Attributes:
        recorded: the recorded state as text; None if it is not known.
        recomputed: the recomputed state as text; None if it is not known.
        differs: whether both are known and differ, also behind the part that is shown.
    """

    process: str
    is_initiator: bool
    position: int | None
    recorded_at: int | None
    recorded: str | None
    recomputed: str | None
    differs: bool


@dataclass(frozen=True)
class MessageItem:
    """One message in a channel; ``fault`` says why it should not be there, or is empty."""

    id: str
    value: str
    fault: str


@dataclass(frozen=True)
class ChannelRow:
    """The contents of one channel.

    Attributes:
        recorded: the first MOST_MESSAGES recorded messages; None if they are not known.
        recomputed: the first MOST_MESSAGES recomputed messages; None if they are not known.
    """

    channel: str
    recorded: list[MessageItem] | None
    recomputed: list[MessageItem] | None
    recorded_hidden: int
    recomputed_hidden: int

    @property
    def differs(self) -> bool:
        return any(item.fault for item in (self.recorded or []) + (self.recomputed or []))


def state_rows(snapshot: StoredSnapshot, initiators: Iterable[str]) -> list[StateRow]:
    initiators = set(initiators)
    return [
        StateRow(
            process,
            process in initiators,
            state.position,
            state.recorded_at,
            _as_value(state.recorded),
            _as_value(state.recomputed),
            None not in (state.recorded, state.recomputed) and state.recorded != state.recomputed,
        )
        for process, state in snapshot.states.items()
    ]


def _as_value(text: JsonText | None) -> str | None:
    if text is None:
        return None
    if len(text) <= LONGEST_VALUE:
        return quantities.value(json.loads(text))
    more = quantities.thousands(len(text) - SHOWN_OF_LONGER)
    return f"{text[:SHOWN_OF_LONGER]}… ({more} more characters: the API gives all of them)"


def channel_rows(snapshot: StoredSnapshot) -> list[ChannelRow]:
    """Return the channels with a recorded or recomputed message, in the order of the header."""
    return [
        _channel_row(channel, contents)
        for channel, contents in snapshot.channels.items()
        if contents.recorded or contents.recomputed
    ]


def _channel_row(channel: str, contents: SnapshotChannel) -> ChannelRow:
    recorded = None if contents.recorded is None else list(contents.recorded)
    recomputed = None if contents.recomputed is None else [item.id for item in contents.recomputed]
    return ChannelRow(
        channel,
        _items(recorded, contents.sent, recomputed, "not in flight at the cut, or recorded twice"),
        _items(recomputed, contents.recomputed or (), recorded, "in flight, but not recorded"),
        max(0, len(recorded or ()) - MOST_MESSAGES),
        max(0, len(recomputed or ()) - MOST_MESSAGES),
    )


def _items(
    ids: Sequence[MessageId] | None,
    messages: Sequence[Message | None],
    others: Sequence[MessageId] | None,
    fault: str,
) -> list[MessageItem] | None:
    """Return the messages of one side, each with its value.

    One that the other side lacks gets the fault, if that side is known.
    """
    if ids is None:
        return None
    left = Counter(ids if others is None else others)
    items = []
    for name, message in zip(ids, messages, strict=True):
        left[name] -= 1
        missing = fault if left[name] < 0 else ""
        value = None if message is None else _as_value(message.value)
        items.append(MessageItem(name, value or name, missing))
    return items[:MOST_MESSAGES]


@dataclass(frozen=True)
class AnswerRow:
    """Questions that have the same answer for the same reason, as one row."""

    questions: list[str]
    answer: str
    sentence: str
    not_compared: str


def answer_rows(answers: Iterable[Mapping[str, str]]) -> list[AnswerRow]:
    """Return the answers, those that say the same in one row."""
    rows: dict[tuple[str, str, str], AnswerRow] = {}
    for item in answers:
        same = item["answer"], item["sentence"], item.get("not_compared", "")
        rows.setdefault(same, AnswerRow([], *same)).questions.append(item["question"])
    return list(rows.values())


@dataclass(frozen=True)
class Witness:
    """A finding.

    Attributes:
        nouns: what the finding names, each as (word, text, address in the workbench).
        smallest: the address of the smallest recording with this finding; empty if it names no
            event.
    """

    verdict: str
    sentence: str
    nouns: list[tuple[str, str, str]]
    path: list[str]
    smallest: str


def witnesses(
    recording: int, snapshot: str, findings: Iterable[Mapping[str, Any]]
) -> list[Witness]:
    return [
        Witness(
            finding["verdict"],
            finding["sentence"],
            list(_nouns(recording, snapshot, finding)),
            finding.get("path", []),
            smallest_part_link(recording, snapshot, number, finding),
        )
        for number, finding in enumerate(findings)
        if finding["verdict"] != "consistent"
    ]


def smallest_part_link(
    recording: int, snapshot: str, number: int, finding: Mapping[str, Any]
) -> str:
    """Return the address of the smallest recording with a finding; empty if it names no event."""
    if not shrinking.Witness(finding).rests_on_events:
        return ""
    return links.to_smallest_part(recording, snapshot, number)


def _nouns(
    recording: int, snapshot: str, finding: Mapping[str, Any]
) -> Iterator[tuple[str, str, str]]:
    def link(**view: str) -> str:
        return links.to_workbench(recording, snapshot=snapshot, **view)

    message, channel = finding.get("message"), finding.get("channel")
    if message is not None and channel is not None and "sent" in finding:
        yield "message", message, link(message=f"{message}@{channel}")
    for word in ("sent", "received", "event"):
        if word in finding:
            place = finding[word]
            text = f"{place['process']}, event {place['index']:,}"
            yield word, text, link(event=links.event(place))
    other = finding.get("other")
    if other:
        name = other.get("message") or "marker"
        yield (
            "overtaken by" if finding["verdict"] == "fifo-violation" else "other",
            name,
            link(event=links.event(other["sent"])),
        )
    if channel is not None:
        yield "channel", channel, link(channel=channel)
    if "process" in finding:
        yield "process", finding["process"], link(process=finding["process"])


def silent_channels(
    snapshot: StoredSnapshot, header_extra: Mapping[str, object]
) -> list[tuple[str, str | None, list[ChannelId]]]:
    """Return the channels without a row in groups: (words, reason as a sentence, channels).

    The reason is None unless the recording is derived.
    """
    silent = [
        (channel, contents)
        for channel, contents in snapshot.channels.items()
        if not contents.recorded and not contents.recomputed
    ]
    empty = [channel for channel, contents in silent if contents.recomputed is not None]
    unknown = [channel for channel, contents in silent if contents.recomputed is None]
    if is_derived(header_extra):
        return [
            ("known to be empty", why_empty(header_extra, snapshot.id), empty),
            ("not known", why_unknown(header_extra, snapshot.id), unknown),
        ]
    reason = "not known: a process at one end never recorded"
    return [("empty", None, empty), (reason, None, unknown)]
