"""Define why an open recording does not take a body."""

from snapshots.domain.model.defects import quoted


class JournalDamaged(Exception):
    """A journal is not as it was written, and not because its last frame was cut short."""

    is_explained = True  # the message names the likely cause


class JournalGone(FileNotFoundError):
    """The file of a journal was removed, because its recording was read or deleted."""


class JournalClosed(Exception):
    """The recording was closed, so it takes no more events."""


class JournalFull(Exception):
    """The journal would take more bytes than a recording may have; the message is a sentence."""


class Contradiction(Exception):
    """Another event is there already at the place of one that came.

    Attributes:
        process: the process of both events.
        index: the place of both within the process.
        line: the line of the body with the event that came, from 1.
        there: the JSON of the event that is there.
        given: the JSON of the event that came.
    """

    def __init__(self, process: str, index: int, line: int, there: bytes, given: bytes) -> None:
        super().__init__(
            f"Line {line}: The process {quoted(process)} already has another event at index "
            f"{index:,}. Do two processes send under one name, or did one lose its spool?"
        )
        self.process, self.index, self.line = process, index, line
        self.there, self.given = there.decode(), given.decode()
