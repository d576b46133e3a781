"""Write dates as ISO 8601 in UTC."""

from datetime import datetime


def date(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def optional_date(moment: datetime | None) -> str | None:
    return None if moment is None else date(moment)
