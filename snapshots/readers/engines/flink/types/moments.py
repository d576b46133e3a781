"""Decode Java's times into the texts that Java's ``toString`` gives.

Dates and SQL times have no zone; they are given in UTC. Source: Flink, InstantSerializer,
LocalDateSerializer, LocalTimeSerializer, DateSerializer, SqlTimestampSerializer.
"""

from snapshots.readers.formats.cursor import Cursor, Malformed

_LEAST_I64, _LEAST_I32, _LEAST_I16, _LEAST_I8 = (-(2**bits) for bits in (63, 31, 15, 7))
_SECONDS = range(-31557014167219200, 31556889864403200)  # what java.time.Instant can hold
_DAY = 86_400
_LAST_YEAR = 999_999_999
_MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def instant(cursor: Cursor) -> str | None:
    at, seconds, nanos = cursor.position, cursor.i64(), cursor.i32()
    return None if seconds == _LEAST_I64 else instant_text(seconds, nanos, at)


def date(cursor: Cursor) -> str | None:
    """Decode milliseconds since 1970."""
    at, millis = cursor.position, cursor.i64()
    return None if millis == _LEAST_I64 else millis_text(millis, at)


def timestamp(cursor: Cursor) -> str | None:
    """Decode milliseconds since 1970 and the nanoseconds of the second."""
    at, millis, nanos = cursor.position, cursor.i64(), cursor.i32()
    return None if millis == _LEAST_I64 else instant_text(millis // 1000, nanos, at)


def local_date(cursor: Cursor) -> str | None:
    at, year = cursor.position, cursor.i32()
    if year == _LEAST_I32:
        cursor.i16()
        return None
    month, day = cursor.i8(), cursor.i8()
    return date_text(year, month, day, at)


def local_time(cursor: Cursor) -> str | None:
    at, hour = cursor.position, cursor.i8()
    if hour == _LEAST_I8:
        cursor.i16()
        cursor.i32()
        return None
    return clock_text(hour, cursor.i8(), cursor.i8(), cursor.i32(), at)


def local_date_time(cursor: Cursor) -> str | None:
    day, time = local_date(cursor), local_time(cursor)
    return None if day is None or time is None else f"{day}T{time}"


def millis_text(millis: int, at: int = 0) -> str:
    """Return milliseconds since 1970 as ``2024-02-29T00:00:00Z``. Raises: Malformed, at ``at``."""
    return instant_text(millis // 1000, millis % 1000 * 1_000_000, at)


def day_text(day: int) -> str:
    """Return days since 1970, a number of at most 32 bits, as a date."""
    return _date_text(*_civil(day))


def time_of_day_text(millis: int, at: int = 0) -> str:
    """Return milliseconds since midnight as a time of day. Raises: Malformed, at ``at``."""
    seconds, rest = divmod(millis, 1000)
    return clock_text(seconds // 3600, seconds // 60 % 60, seconds % 60, rest * 1_000_000, at)


def date_text(year: int, month: int, day: int, at: int = 0) -> str:
    """Return a date as text. Raises: Malformed, at ``at``, if there is no such day."""
    if not _is_date(year, month, day):
        raise Malformed(f"Day {day} of month {month} of the year {year} does not exist", at)
    return _date_text(year, month, day)


def duration_text(seconds: int, nanos: int, at: int = 0) -> str:
    """Return a duration as Java does, ``PT1M1.5S``. Raises: Malformed, at ``at``."""
    if not 0 <= nanos < 10**9:
        raise Malformed(f"A second does not have {nanos} ns", at)
    total = abs(seconds * 10**9 + nanos)
    sign = "-" if seconds < 0 else ""
    whole, rest = divmod(total, 10**9)
    hours, minutes, second = whole // 3600, whole // 60 % 60, whole % 60
    fraction = f".{rest:09}".rstrip("0") if rest else ""
    parts = [f"{sign}{number}{unit}" for number, unit in ((hours, "H"), (minutes, "M")) if number]
    if second or rest or not parts:
        parts.append(f"{sign}{second}{fraction}S")
    return "PT" + "".join(parts)


def instant_text(seconds: int, nanos: int, at: int = 0) -> str:
    if seconds not in _SECONDS or not 0 <= nanos < 10**9:
        raise Malformed(f"{seconds} s and {nanos} ns are not a valid time", at)
    days, second = divmod(seconds, _DAY)
    time = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
    return f"{day_text(days)}T{time}{_fraction(nanos)}Z"


def clock_text(hour: int, minute: int, second: int, nanos: int, at: int) -> str:
    """Return ``23:59``, with seconds unless they are zero."""
    if not (0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 60 and 0 <= nanos < 10**9):
        raise Malformed(f"{hour}:{minute}:{second} and {nanos} ns are not a time of day", at)
    seconds = f":{second:02}{_fraction(nanos)}" if second or nanos else ""
    return f"{hour:02}:{minute:02}{seconds}"


def _fraction(nanos: int) -> str:
    """Return a decimal point and 3, 6 or 9 digits; empty for zero."""
    if not nanos:
        return ""
    text = f"{nanos:09}"
    while text.endswith("000"):
        text = text[:-3]
    return "." + text


def _is_date(year: int, month: int, day: int) -> bool:
    if not (1 <= month <= 12 and abs(year) <= _LAST_YEAR):
        return False
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 1 <= day <= _MONTHS[month - 1] + leap


def _date_text(year: int, month: int, day: int) -> str:
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{month:02}-{day:02}"


def _civil(day: int) -> tuple[int, int, int]:
    """Return year, month and day of a day since 1970 in the Gregorian calendar.

    The years of ``datetime.date`` would not suffice. Source: Hinnant, "chrono-Compatible Low-Level
    Date Algorithms", civil_from_days.
    """
    era, era_day = divmod(day + 719_468, 146_097)
    year = (era_day - era_day // 1460 + era_day // 36_524 - era_day // 146_096) // 365
    year_day = era_day - (365 * year + year // 4 - year // 100)
    from_march = (5 * year_day + 2) // 153
    day_of_month = year_day - (153 * from_march + 2) // 5 + 1
    month = from_march + 3 if from_march < 10 else from_march - 9
    return year + 400 * era + (month <= 2), month, day_of_month
