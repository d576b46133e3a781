"""Guided tours of the samples, with a few sentences for each step beside the replay.

The texts are Markdown in ``texts``; ``reading`` describes how they are written.
"""

from pathlib import Path

from snapshots.guides.guide import Guide, Term
from snapshots.guides.reading import read_chapters, read_guide, read_terms

_TEXTS = Path(__file__).parent / "texts"

TERMS: dict[str, Term] = read_terms(_TEXTS / "terms.md")
"""The words of the field, by name."""

CHAPTERS: list[tuple[str, str, list[Guide]]] = read_chapters(
    _TEXTS / "chapters.md",
    {path.stem: read_guide(path, TERMS) for path in (_TEXTS / "tours").glob("*.md")},
)
"""Title, sentence and tours of each chapter, in the order in which one learns."""

GUIDES: dict[str, Guide] = {guide.slug: guide for *_, guides in CHAPTERS for guide in guides}
"""Tours by the slug of the sample, in the order in which one learns."""


def slug_after(slug: str) -> str | None:
    """Return the sample with the next tour, or None after the last tour."""
    slugs = [*GUIDES, None]
    return slugs[slugs.index(slug) + 1]
