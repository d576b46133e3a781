"""Keeps bytes that could not be read, with the reason; their meaning is never guessed."""

from dataclasses import dataclass

SHOWN_BYTES = 256


@dataclass(frozen=True, slots=True)
class Opaque:
    """Bytes whose meaning is not known."""

    size: int
    """The number of all the bytes."""
    head: bytes
    """The first SHOWN_BYTES at most."""
    reason: str
    """A sentence that says why they could not be read."""
    file: str | None = None
    offset: int | None = None
    """The place in ``file`` at which they begin. None means unknown."""

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
