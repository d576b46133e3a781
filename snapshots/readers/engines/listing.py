"""Long lists as short texts: the first few, and how many there are more."""

from collections.abc import Iterator, Sequence


def clipped(text: str, longest: int) -> str:
    """Return a text, or its beginning and how long it is."""
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text):,} characters)"


def first(sentences: Sequence[str], most: int, rest: str) -> Iterator[str]:
    """Yield the first ``most`` sentences, then one for all others: their number and ``rest``."""
    yield from sentences[:most]
    if len(sentences) > most:
        yield f"{len(sentences) - most:,} more {rest}"


def names(listed: Sequence[str], most: int, joint: str = ", ") -> str:
    """Return the first ``most`` names, and behind ``joint`` how many there are more."""
    text = ", ".join(listed[:most])
    return f"{text}{joint}{len(listed) - most:,} more" if len(listed) > most else text
