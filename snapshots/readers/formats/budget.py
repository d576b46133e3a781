"""How much of an upload is read: a small file may name the same bytes a thousand times."""

from snapshots.readers.formats.cursor import Malformed


class Room:
    """Shared by all that read one upload. what: a plural. most: of it in the whole upload."""

    def __init__(self, what: str, most: int) -> None:
        self.what = what
        self.most = self.left = most

    def take(self, amount: int) -> None:
        """Raises: Malformed where there is less room than that; what fits may still be taken."""
        if amount > self.left:
            raise Malformed(
                f"It is not read: the {self.what} of an upload that are read are at most "
                f"{self.most:,}",
                0,
            )
        self.left -= amount
