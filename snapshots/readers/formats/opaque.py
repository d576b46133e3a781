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
        damaged: whether they contradict the type that describes them.
        known: the value as far as it was read, for JSON; None if nothing was.
    """

    size: int
    head: bytes
    reason: str
    file: str | None = None
    offset: int | None = None
    damaged: bool = False
    known: object = None

    @classmethod
    def of(
        cls,
        data: bytes | memoryview,
        reason: str,
        file: str | None = None,
        offset: int | None = None,
        *,
        damaged: bool = False,
        known: object = None,
    ) -> "Opaque":
        """Keep the size and the beginning of ``data``."""
        return cls(len(data), bytes(data[:SHOWN_BYTES]), reason, file, offset, damaged, known)
