"""Write dates as ISO 8601 in UTC."""

import datetime


def date(moment: datetime.datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def optional_day(day: datetime.date | None) -> str | None:
    """Return a day such as 2026-11-30; None stays None."""
    return None if day is None else day.isoformat()


def optional_date(moment: datetime.datetime | None) -> str | None:
    return None if moment is None else date(moment)


def optional_instant(milliseconds: int | None) -> str | None:
    """Return epoch milliseconds such as 2026-11-30T04:00:00.250Z; None for what is no date."""
    if milliseconds is None:
        return None
    try:
        moment = datetime.datetime.fromtimestamp(milliseconds // 1000, datetime.UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03d}Z"
