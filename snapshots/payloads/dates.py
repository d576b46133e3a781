"""How dates are written."""

from datetime import datetime


def date(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
