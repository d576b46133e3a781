"""Limits how much of an upload is read: a small file may name the same bytes a thousand times."""

from snapshots.readers.formats.cursor import NotReadHere


class Room:
    """The room for one kind of thing, which all that read one upload share."""

    def __init__(self, things: str, most: int) -> None:
        """Allow ``most`` things in the whole upload; ``things`` is their name, a plural."""
        self.things = things
        self.most = self.left = most

    def take(self, amount: int) -> None:
        """Use some of the room.

        Raises: NotReadHere if less is left; a smaller amount may still be taken then.
        """
        if amount > self.left:
            raise NotReadHere(
                f"It is not read: the {self.things} of an upload that are read are at most "
                f"{self.most:,}",
                0,
            )
        self.left -= amount
