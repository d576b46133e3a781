"""Compare the counts n, n', m and m' of one channel of a snapshot, as the paper's section 3.1 does.

A snapshot records the states of a channel's ends and of the channel itself. It is consistent only
if n = n' and m = m'. As no more messages can be received than were sent, n' >= m', and so n >= m.
The recorded contents of the channel are then its messages m'+1 .. n'.

The recorded contents say which numbers n' and m' are: the last recorded message is number n', the
first is number m'+1. An empty channel says that n' = m', and not which number that is.

Source: Chandy and Lamport, "Distributed Snapshots", ACM TOCS 3(1), 1985, section 3.1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from snapshots.domain.model.topology import ChannelId

DERIVED = "Not known: the recording is derived, and nothing says how many messages were sent."
NO_SEND = "Not known: the log holds the receive of a message on the channel, but not its send."
RESTORED = (
    "Not known: the receiver went back to a snapshot. That took messages of the channel back, so "
    "not all that were sent count."
)
OVERTAKING = (
    "Not known: messages on the channel overtook each other or got lost, so those that were "
    "received before the receiver's state was recorded are not the first m."
)


@dataclass(frozen=True, slots=True)
class Contents:
    """What the log says of one channel of a snapshot.

    Attributes:
        sent: how many messages were sent before the sender's state was recorded; None if it never
            was, or if that is not known.
        received: how many were received before the receiver's state was recorded; None likewise.
        recorded: the ordinals, from 0, of the recorded messages, with None for one that was never
            sent; None if the log does not say what the snapshot recorded.
        is_in_order: whether the first messages of the channel are those that were received.
    """

    sent: int | None
    received: int | None
    recorded: Sequence[int | None] | None
    is_in_order: bool = True


@dataclass(frozen=True, slots=True)
class ChannelCounts:
    """The counts of section 3.1 for one channel of a snapshot.

    Attributes:
        channel: the id of the channel.
        n: how many messages were sent before the sender's state was recorded; None if that is not
            known.
        n_of_channel: how many were sent before the channel's state was recorded, the paper's n';
            None if that is not known.
        m: how many messages were received before the receiver's state was recorded; None if that
            is not known.
        m_of_channel: how many were received before the channel's state was recorded, the paper's
            m'; None if that is not known.
        holds: whether the counts fit n = n', m = m' and n >= m; None if that is not known.
        sentence: the comparison in words, or why it is not known.
    """

    channel: ChannelId
    n: int | None
    n_of_channel: int | None
    m: int | None
    m_of_channel: int | None
    holds: bool | None
    sentence: str


NO_MARKER = "n' and m' are not known before the contents are recorded: the log has no marker"


@dataclass(frozen=True, slots=True)
class CountsSoFar:
    """The counts of section 3.1 of one channel at a cut, where a marker divides its messages.

    The state of the channel is recorded between the receiver's record and the marker, so the counts
    of the channel are those of the messages in front of the marker.

    Attributes:
        n: how many messages were sent, up to the cut and before the sender's state is recorded.
        n_of_channel: how many were sent, up to the cut and before the marker; None without one.
        m: how many were received, up to the cut and before the receiver's state is recorded.
        m_of_channel: how many were received, up to the cut and before both the receiver's state is
            recorded and the marker arrives; None without one.
    """

    n: int
    n_of_channel: int | None
    m: int
    m_of_channel: int | None

    def said(self) -> str:
        """Say the counts, and which of the paper's equations hold so far."""
        last, first = self.n_of_channel, self.m_of_channel
        if last is None or first is None:
            holds = "holds" if self.n >= self.m else "is broken"
            return f"n = {self.n:,}, m = {self.m:,}: n >= m {holds} so far; {NO_MARKER}."
        numbers = f"n = {self.n:,}, n' = {last:,}, m = {self.m:,}, m' = {first:,}"
        equations = {
            "n = n'": self.n == last, "m = m'": self.m == first,
            "n' >= m'": last >= first, "n >= m": self.n >= self.m,
        }  # fmt: skip
        broken = [name for name, holds in equations.items() if not holds]
        if broken:
            return f"{numbers}: {', '.join(broken)} {'is' if len(broken) == 1 else 'are'} broken."
        return f"{numbers}: {', '.join(equations)} hold so far."


def not_known(channel: ChannelId, reason: str) -> ChannelCounts:
    """Return the counts of a channel of which none is known, with the reason as a sentence."""
    return ChannelCounts(channel, None, None, None, None, None, reason)


def counts(channel: ChannelId, contents: Contents) -> ChannelCounts:
    """Return the four counts of a channel and the comparison between them."""
    last, first = _of_channel(contents)
    holds, sentence = _compared(contents, last, first)
    return ChannelCounts(channel, contents.sent, last, contents.received, first, holds, sentence)


def _of_channel(contents: Contents) -> tuple[int | None, int | None]:
    """Return n' and m' if the recorded contents say which they are."""
    ordinals = _consecutive(contents.recorded)
    if not ordinals or not contents.is_in_order:
        return None, None
    return ordinals[-1] + 1, ordinals[0]


def _consecutive(recorded: Sequence[int | None] | None) -> list[int] | None:
    """Return the sorted ordinals of recorded messages; None if they do not follow each other."""
    if recorded is None:
        return None
    ordinals = sorted(ordinal for ordinal in recorded if ordinal is not None)
    follow = ordinals == list(range(ordinals[0], ordinals[-1] + 1)) if ordinals else True
    return ordinals if follow and len(ordinals) == len(recorded) else None


def _compared(contents: Contents, last: int | None, first: int | None) -> tuple[bool | None, str]:
    n, m = contents.sent, contents.received
    if n is None or m is None:
        return None, _end_missing(n, m)
    if not contents.is_in_order:
        return None, OVERTAKING
    if n < m:
        return False, f"n >= m is broken: n = {n:,} and m = {m:,}."
    if contents.recorded is None:
        return None, "Not known: the log does not say what was recorded for the channel."
    if last is None or first is None:
        return _without_numbers(contents.recorded, n, m)
    return _with_numbers(n, last, m, first)


def _end_missing(n: int | None, m: int | None) -> str:
    ends = {(True, True): "the sender and the receiver", (True, False): "the sender"}
    who = ends.get((n is None, m is None), "the receiver")
    verb = "are" if n is None and m is None else "is"
    return f"Not known: the log does not say when the state of {who} {verb} recorded."


def _without_numbers(recorded: Sequence[int | None], n: int, m: int) -> tuple[bool, str]:
    """Compare the counts of a channel whose recorded contents do not give n' and m'."""
    if recorded:
        return (
            False,
            "The recorded contents are not consecutive messages m'+1 .. n' of the channel.",
        )
    if n == m:
        return True, (
            f"The channel was recorded empty, so n' = m'. That fits n = m = {n:,}; the contents do "
            "not say which number n' is."
        )
    return False, (
        f"n = n' or m = m' is broken: the channel was recorded empty, so n' = m', but n = {n:,} "
        f"and m = {m:,}."
    )


def _with_numbers(n: int, last: int, m: int, first: int) -> tuple[bool, str]:
    broken = []
    if n != last:
        broken.append(f"n = n' is broken: n = {n:,} and n' = {last:,}")
    if m != first:
        broken.append(f"m = m' is broken: m = {m:,} and m' = {first:,}")
    if broken:
        return False, f"{'; '.join(broken)}."
    return True, f"n = n' = {n:,} and m = m' = {m:,}, so n >= m."
