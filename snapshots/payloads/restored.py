"""The payload of a frame of a restored run: both sides, as they are drawn and said."""

from typing import Any

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.payloads.declaring import described


@described
class RestoredFault(TypedDict):
    """What goes wrong in the restored run.

    Attributes:
        place: where it begins to show.
        kind: its verdict, such as ``lost``.
        sentence: what goes wrong.
    """

    place: int
    kind: str
    sentence: str


@described
class RestoredSums(TypedDict):
    """The sums over states and channels, where the original keeps one.

    Attributes:
        texts: that of the original and that of the restored run.
        conserved: what it is at the start and at the end of the original.
        wrong: how the restored run is off, as a sentence; empty if it is not.
    """

    texts: list[str]
    conserved: str
    wrong: str


@described
class RestoredRow(TypedDict):
    """What both sides hold of one process or channel.

    Attributes:
        name: its id.
        of: ``state`` or ``channel``.
        texts: what the original and what the restored run holds.
        verdict: ``same``, ``other``, ``open`` (not known) or ``waits`` (not restored yet).
    """

    name: str
    of: str
    texts: list[str]
    verdict: str


@described
class RestoredEnding(TypedDict):
    """How the two ends compare.

    Attributes:
        alike: whether both end alike; null if that is not known.
        sentence: the same as a sentence.
    """

    alike: bool | None
    sentence: str


@described
class RestoredFrame(TypedDict):
    """What a restored run and the original show at the end of a frame.

    Attributes:
        beat: 1 to 4.
        title: the name of the beat.
        sentence: what has been done, and what goes wrong by that.
        faults: what has gone wrong so far, at most 20.
        is_fault: whether something goes wrong in this frame.
        sums: the sums of both sides; null if the original keeps none.
        rows: what both hold, those that differ first, at most 60.
        differ: how many rows differ.
        counted: the same in words, with how many rows are left out.
        ending: how the ends compare; null before the end.
        moving: for each side the last traces of its figure, which move.
        pictures: for each side the figure of what stands still; null if it is that of the frame
            before.
    """

    beat: int
    title: str
    sentence: str
    faults: list[RestoredFault]
    is_fault: bool
    sums: RestoredSums | None
    rows: list[RestoredRow]
    differ: int
    counted: str
    ending: RestoredEnding | None
    moving: list[list[dict[str, Any]]]
    pictures: list[dict[str, Any]] | None
