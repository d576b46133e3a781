"""A wrong text of a tour is refused with its file, its line and the fault."""

import pytest

from snapshots.guides import TERMS
from snapshots.guides.reading import TextError, read_chapters, read_guide, read_terms

TOUR = """---
promise: One sentence.
terms: marker; FIFO
---

# First

t=1000 snapshot=s1 look=states

A text
of two lines.

[Open it](snapshots/s1)
"""


def tour(folder, text: str = TOUR):
    path = folder / "sample.md"
    path.write_text(text)
    return read_guide(path, TERMS)


def test_a_tour_is_read(tmp_path):
    guide = tour(tmp_path)
    assert (guide.slug, guide.promise) == ("sample", "One sentence.")
    assert [term.name for term in guide.terms] == ["marker", "FIFO"]
    assert guide.to_json(7)["steps"] == [
        {
            "title": "First",
            "text": "A text of two lines.",
            "view": {"t": "1000", "snapshot": "s1"},
            "leads": [["Open it", "/recordings/7/snapshots/s1"]],
            "look": "states",
        }
    ]


@pytest.mark.parametrize(
    ("old", "new", "line", "fault"),
    [
        ("---\npromise", "promise", 1, "the head stands between two lines “---”."),
        ("promise: ", "promise ", 2, "a line of the head is “key: value”."),
        ("terms: ", "words: ", 1, "the head needs “promise” and “terms”, and nothing else."),
        ("FIFO", "LIFO", 3, "terms.md does not explain “LIFO”."),
        ("# First", "First", 6, "a text begins with a heading “# …”."),
        ("t=1000 ", "", 8, "a view needs “t”."),
        (" snapshot=s1", "", 8, "a view needs “snapshot”."),
        ("snapshot=s1", "snapshot=s1 colour=red", 8, "a view has no “colour”."),
        ("look=states", "look=sideways", 8, "“look” is one of contents, states, details."),
        ("A text\nof two lines.", "", 6, "“First” needs one text."),
        ("of two", "\nof two", 6, "“First” needs one text."),
        ("](snapshots/s1)", "]", 13, "a link is written [words](address)."),
    ],
)
def test_a_fault_is_named_with_its_line(tmp_path, old, new, line, fault):
    assert old in TOUR
    with pytest.raises(TextError) as refusal:
        tour(tmp_path, TOUR.replace(old, new, 1))
    assert str(refusal.value) == f"sample.md, line {line}: {fault}"


def test_a_step_without_a_text_is_named_by_its_heading(tmp_path):
    with pytest.raises(TextError, match="sample.md, line 15: “Last” needs a view and a text."):
        tour(tmp_path, TOUR + "\n# Last\n")


def test_a_term_needs_a_source(tmp_path):
    path = tmp_path / "terms.md"
    path.write_text("# marker\n\nA message.\n\nSource: the paper\n")
    assert read_terms(path)["marker"].source == "the paper"
    path.write_text("# marker\n\nA message.\n\nthe paper\n")
    with pytest.raises(TextError, match="line 5: a source begins with “Source: ”."):
        read_terms(path)


def test_a_chapter_lists_tours_that_are_there(tmp_path):
    path = tmp_path / "chapters.md"
    path.write_text("# First\n\nA sentence.\n\n- sample\n- none\n")
    with pytest.raises(TextError, match="line 6: there is no tour none.md."):
        read_chapters(path, {"sample": tour(tmp_path)})
