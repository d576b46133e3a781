"""The outcome of an attempt to deliver a notice."""


class NotDelivered(Exception):
    """An attempt failed; the message says why.

    Attributes:
        status: the receiver's status, or None if it sent none.
        is_final: whether a later attempt would fail too.
        is_gone: whether the receiver wants nothing more at all (410).
    """

    def __init__(
        self,
        sentence: str,
        *,
        status: int | None = None,
        is_final: bool = False,
        is_gone: bool = False,
    ) -> None:
        super().__init__(sentence)
        self.status = status
        self.is_final = is_final
        self.is_gone = is_gone
