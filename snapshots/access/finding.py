"""Look people, teams and rows up by their numbers, whatever number was asked for."""

from django.db.models import QuerySet

from snapshots.problems import NotFound

LARGEST_KEY = 2**63 - 1  # that the column of a database holds


def key_of(user) -> int:
    """Return the person's key, or one that nobody has if the person is not signed in."""
    return user.pk if user.is_authenticated else -1


def number(text: int | str | None) -> int:
    """Return a text as the number of a row; -1, which no row has, if it is none."""
    digits = str(text)
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 19 else -1


def one_of(visible: QuerySet, pk: int, noun: str):
    """Return the row with this number among those that are visible. Raises: NotFound."""
    row = visible.prefetch_related(None).filter(pk=pk).first() if abs(pk) <= LARGEST_KEY else None
    if row is None:
        raise NotFound(f"There is no {noun} {pk}, or it belongs to someone else.")
    return row


def with_teams(rows: QuerySet) -> QuerySet:
    """Read the teams of all rows of a list at once."""
    return rows.prefetch_related("owner__team")
