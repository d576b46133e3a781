"""Keeps bytes that could not be read, with the reason; their meaning is never guessed."""

from dataclasses import dataclass

SHOWN_BYTES = 256


@dataclass(frozen=True, slots=True)
class Opaque:
    """Bytes whose meaning is not known.

    Attributes:
        size: the number of all the bytes.
        head: the first SHOWN_BYTES at most.
        reason: a sentence that says why they could not be read.
        offset: the place in ``file`` at which they begin. None means unknown.
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
        """Keep the size and the beginning of ``data``."""
        return cls(len(data), bytes(data[:SHOWN_BYTES]), reason, file, offset)
