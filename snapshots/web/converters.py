"""Define what the variable parts of addresses match."""

from snapshots.services import sharing


class TextConverter:
    """Accepts any text in an address, also with slashes, as ids of processes and snapshots are."""

    regex = r"(?s:.+)"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class KindConverter(TextConverter):
    """Matches the first part of the address of what can be moved into a team."""

    regex = "|".join(sharing.KINDS)
