"""The message for which each entry of a recorded channel stands.

A log may use an id several times on one channel. The k-th entry of an id stands for the k-th
message in flight with that id. An entry beyond these should not be there; it stands for the first
message that was ever sent with its id.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from snapshots.domain.model.recording import MessageId

Sent = TypeVar("Sent")


def messages_of(
    entries: Iterable[MessageId],
    in_flight: Iterable[tuple[MessageId, Sent]],
    first_sent: Mapping[MessageId, Sent],
) -> list[Sent | None]:
    """Return what was sent for each entry; None for an id that was never sent.

    Args:
        entries: the recorded ids.
        in_flight: id and message of what is in flight, in the order of sending.
        first_sent: the first message with each id; those that ``in_flight`` has may be left out.
    """
    waiting: dict[MessageId, list[Sent]] = {}
    for name, message in in_flight:
        waiting.setdefault(name, []).append(message)
    taken = dict.fromkeys(waiting, 0)
    found: list[Sent | None] = []
    for name in entries:
        messages, count = waiting.get(name, []), taken.get(name, 0)
        if count < len(messages):
            taken[name] = count + 1
            found.append(messages[count])
        else:
            found.append(first_sent.get(name, messages[0] if messages else None))
    return found
