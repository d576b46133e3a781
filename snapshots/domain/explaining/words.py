"""Words of the sentences about events: values, counts and lists."""

import json
from collections.abc import Sequence

LONGEST = 60  # characters of a value in a sentence


def value_text(text: str) -> str:
    """Return a JSON text for a sentence: 3,000 for 3000, and of a long one the beginning."""
    try:
        value = json.loads(text)
    except ValueError:  # an excerpt
        value = None
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, dict) and value.keys() == {"key", "value"}:  # a record of a dataflow
        text = f"{value['key']}: {json.dumps(value['value'])}"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def counted(count: int, noun: str) -> str:
    """Return "1 message" or "2 messages"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def listed(parts: Sequence[str]) -> str:
    """Return "a", "a and b", or "a, b, and c"."""
    if len(parts) < 3:
        return " and ".join(parts)
    return f"{', '.join(parts[:-1])}, and {parts[-1]}"
