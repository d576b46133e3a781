"""What an input holds and nobody could read: kept, with the reason, never guessed."""

from dataclasses import dataclass

SHOWN_BYTES = 256


@dataclass(frozen=True, slots=True)
class Opaque:
    """Bytes whose meaning is not known.

    size: all of them, in bytes. head: the first SHOWN_BYTES at most. reason: a sentence.
    offset: where they begin in ``file``, where that is known.
    """

    size: int
    head: bytes
    reason: str
    file: str | None = None
    offset: int | None = None

    @classmethod
    def of(
        cls,
        data: bytes | memoryview,
        reason: str,
        file: str | None = None,
        offset: int | None = None,
    ) -> "Opaque":
        return cls(len(data), bytes(data[:SHOWN_BYTES]), reason, file, offset)
