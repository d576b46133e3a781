"""Guided tours of the samples: a few sentences a step, beside the replay."""

from snapshots.guides.chandy_lamport import GUIDES as CHANDY_LAMPORT
from snapshots.guides.dataflows import GUIDES as DATAFLOWS
from snapshots.guides.engines import GUIDES as ENGINES
from snapshots.guides.stable_properties import GUIDES as STABLE_PROPERTIES
from snapshots.guides.step import Guide

CHAPTERS: tuple[tuple[str, str, tuple[Guide, ...]], ...] = (
    (
        "Snapshots without stopping",
        "What a global snapshot is, what goes wrong without rules, and the two rules that suffice.",
        CHANDY_LAMPORT,
    ),
    (
        "What a snapshot can tell",
        "Properties that stay true once they are true: an end, a deadlock, a token lost or copied.",
        STABLE_PROPERTIES,
    ),
    (
        "Checkpoints of dataflows",
        "Stream processors take the same snapshots, and go back to them after a failure: what "
        "barriers wait for, and what a failure repeats.",
        DATAFLOWS + ENGINES,
    ),
)
"""title, sentence and tours, in the order in which one learns."""

GUIDES: dict[str, Guide] = {guide.slug: guide for *_, guides in CHAPTERS for guide in guides}
"""By the slug of the sample, in the order in which one learns."""


def slug_after(slug: str) -> str | None:
    """The sample whose tour comes next; None after the last."""
    slugs = [*GUIDES, None]
    return slugs[slugs.index(slug) + 1]
