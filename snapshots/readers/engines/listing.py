"""Long lists and texts made short: the beginning, and how much more there is."""

from collections.abc import Iterator, Sequence


def clipped(text: str, longest: int) -> str:
    """Return a text; of one that is too long its beginning and its length."""
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text):,} characters)"


def first(sentences: Sequence[str], most: int, rest: str) -> Iterator[str]:
    """Yield the first ``most`` sentences, then how many more there are; ``rest`` says of what."""
    yield from sentences[:most]
    if len(sentences) > most:
        yield f"{len(sentences) - most:,} more {rest}"


def names(listed: Sequence[str], most: int, joint: str = ", ") -> str:
    """Join the first ``most`` names, then how many more there are behind ``joint``."""
    text = ", ".join(listed[:most])
    return f"{text}{joint}{len(listed) - most:,} more" if len(listed) > most else text
