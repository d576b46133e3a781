"""Read the query of a search: words, each of which an event must hold in one of its fields.

``send 1000`` has two words that may stand in any field. ``kind:send`` names the field. Quotes keep
spaces: ``label:"out of stock"``. ``5.2ms`` is an instant, ``5ms..6ms`` a range of instants.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from math import ceil

NAMES = ("process", "channel", "kind", "snapshot")
TEXTS = ("message", "value", "state", "label", "extra")
TIME = "time"
MOST_CHARACTERS = 200
MOST_WORDS = 8

_FIELDS = {name: name for name in (*NAMES, *TEXTS, TIME)} | {"id": "message", "t": TIME, "at": TIME}
_NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
    "d": 86400 * 10**9,
}
_UNITS = "|".join(_NANOSECONDS)
_LARGEST = 2**62
_BEFORE_UNIT = re.compile(rf"(?<=\d)\s+(?=(?:{_UNITS})(?:\s|\.\.|$))")
_WORD = re.compile(r'(?:(\w+):)?(?:"([^"]*)"|(\S+))')
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_GROUPED = re.compile(r"-?\d{1,3}(,\d{3})+(\.\d+)?")
_INSTANT = re.compile(rf"(-?[\d,]+(?:\.\d+)?)({_UNITS})?")


class NotAQuery(ValueError):
    """A query that cannot be searched for; the text says why."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a query.

    Attributes:
        text: what an event must hold, in lower case.
        field: the only field to look in; None for all fields.
        instants: the first and the last instant that match, in the recording's time unit; None if
            the word is no instant.
    """

    text: str
    field: str | None = None
    instants: tuple[int, int] | None = None

    @property
    def is_number(self) -> bool:
        """Tell whether the word is a number, which is found only as a whole."""
        return _NUMBER.fullmatch(self.text) is not None


def read_query(query: str, time_unit: str) -> tuple[Word, ...]:
    """Return the words of a query. Raises: NotAQuery."""
    if len(query) > MOST_CHARACTERS:
        raise NotAQuery(f"A search has at most {MOST_CHARACTERS} characters, not {len(query)}.")
    matches = list(_WORD.finditer(_BEFORE_UNIT.sub("", query)))
    if not matches:
        raise NotAQuery("A search needs a word to look for.")
    if len(matches) > MOST_WORDS:
        raise NotAQuery(f"A search has at most {MOST_WORDS} words, not {len(matches)}.")
    return tuple(_word(match, time_unit) for match in matches)


def _word(match: re.Match[str], time_unit: str) -> Word:
    prefix, quoted, bare = match.groups()
    field = _FIELDS.get(prefix.lower()) if prefix else None
    text = quoted if quoted is not None else bare
    if prefix and field is None:
        text = match[0].strip('"')
    if not text:
        raise NotAQuery("There is nothing between the quotation marks.")
    if field == TIME:
        return Word(text, TIME, _instants(text, time_unit))
    if field is None and quoted is None and _is_instant(text) and time_unit in _NANOSECONDS:
        return Word(text, TIME, _instants(text, time_unit))
    if _GROUPED.fullmatch(text):
        text = text.replace(",", "")
    return Word(text.lower(), field)


def _is_instant(text: str) -> bool:
    """Tell whether each end of a range, or the only instant, has a unit of time."""
    ends = [_INSTANT.fullmatch(end) for end in text.split("..") if end]
    return bool(ends) and all(end and end[2] for end in ends)


def _instants(text: str, time_unit: str) -> tuple[int, int]:
    """Return the first and the last instant of ``time:TEXT``."""
    first, dots, last = text.partition("..")
    if not (first or last):
        raise NotAQuery("A range of instants needs a first or a last one, as in time:5ms..6ms.")
    low = _rounded(first, time_unit)[0] if first else -_LARGEST
    high = _rounded(last if dots else first, time_unit)[1] if last or not dots else _LARGEST
    return low, high


def _rounded(text: str, time_unit: str) -> tuple[int, int]:
    """Return the first and the last instant that ``text`` is when rounded to its digits."""
    match = _INSTANT.fullmatch(text)
    if match is None:
        raise NotAQuery(f"“{text[:40]}” is no instant. Write 5.2ms, or 5ms..6ms.")
    number, unit = Decimal(match[1].replace(",", "") or "0"), match[2]
    if unit and time_unit not in _NANOSECONDS:
        raise NotAQuery(
            f"This recording counts its time in {time_unit}: write the number without {unit}."
        )
    scale = Decimal(_NANOSECONDS[unit]) / _NANOSECONDS[time_unit] if unit else Decimal(1)
    half = Decimal(1).scaleb(int(number.as_tuple().exponent)) / 2
    low, high = ceil((number - half) * scale), ceil((number + half) * scale) - 1
    return max(low, -_LARGEST), min(max(high, low), _LARGEST)
