"""Read the texts of the tours from Markdown.

A text is a head of ``key: value`` lines between two lines ``---``, if it needs one, and sections
that begin with ``# Title``. A section is made of paragraphs with empty lines between them. In a
tour each section is a step: its first paragraph is the view, the last may hold links.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from snapshots.guides.guide import CONTENTS, LOOKS, Guide, Step, Term

VIEW = {"t", "from", "to", "axis", "snapshot", "event", "message", "process", "channel", "cut"}
_LINK = re.compile(r"\[(?P<words>[^]]+)\]\((?P<address>[^)\s]+)\)")

Line = tuple[int, str]
Paragraph = list[Line]


class TextError(ValueError):
    """A text of the tours cannot be read. The message names file, line and fault."""

    def __init__(self, path: Path, line: int, fault: str) -> None:
        super().__init__(f"{path.name}, line {line}: {fault}")


@dataclass(frozen=True)
class Section:
    """A heading and the paragraphs below it; the lines carry their numbers."""

    path: Path
    line: int
    title: str
    paragraphs: tuple[Paragraph, ...]

    def taken(self, count: int, parts: str) -> tuple[Paragraph, ...]:
        """Return the paragraphs. Raises: TextError if there are fewer than ``count``."""
        if len(self.paragraphs) < count:
            raise TextError(self.path, self.line, f"“{self.title}” needs {parts}.")
        return self.paragraphs


def read_terms(path: Path) -> dict[str, Term]:
    """Read the words of the field: in each section the meaning, then ``Source: …``."""
    terms = {}
    for section in _sections(path, _lines(path)):
        meaning, source_lines = section.taken(2, "a meaning and a source")[:2]
        line, text = source_lines[0]
        if not text.startswith("Source: "):
            raise TextError(path, line, "a source begins with “Source: ”.")
        source = _joined(source_lines).removeprefix("Source: ")
        terms[section.title] = Term(section.title, _joined(meaning), source)
    return terms


def read_chapters(path: Path, guides: Mapping[str, Guide]) -> list[tuple[str, str, list[Guide]]]:
    """Read title, sentence and tours of each chapter, in the order in which one learns."""
    chapters = []
    for section in _sections(path, _lines(path)):
        sentence, listed = section.taken(2, "a sentence and a list of tours")[:2]
        slugs = [(line, text.removeprefix("- ")) for line, text in listed]
        for line, slug in slugs:
            if slug not in guides:
                raise TextError(path, line, f"there is no tour {slug}.md.")
        chapters.append((section.title, _joined(sentence), [guides[slug] for _, slug in slugs]))
    return chapters


def read_guide(path: Path, terms: Mapping[str, Term]) -> Guide:
    """Read the tour of the sample that the file is named after."""
    head, body = _head(path)
    if head.keys() != {"promise", "terms"}:
        raise TextError(path, 1, "the head needs “promise” and “terms”, and nothing else.")
    line, listed = head["terms"]
    names = listed.split("; ")
    for name in names:
        if name not in terms:
            raise TextError(path, line, f"terms.md does not explain “{name}”.")
    steps = tuple(map(_step, _sections(path, body)))
    return Guide(path.stem, head["promise"][1], tuple(terms[name] for name in names), steps)


def _step(section: Section) -> Step:
    view, *texts = section.taken(2, "a view and a text")
    leads = _links(section.path, texts.pop()) if texts[-1][0][1].startswith("[") else ()
    if len(texts) != 1:
        raise TextError(section.path, section.line, f"“{section.title}” needs one text.")
    parameters = _view(section.path, view[0])
    look = parameters.pop("look", CONTENTS)
    return Step(section.title, _joined(texts[0]), parameters, leads, look)


def _view(path: Path, line: Line) -> dict[str, str]:
    """Read ``t=1000 snapshot=s1 look=states``."""
    number, text = line
    view = dict(part.partition("=")[::2] for part in text.split())
    if unknown := sorted(view.keys() - VIEW - {"look"}):
        raise TextError(path, number, f"a view has no “{unknown[0]}”.")
    if missing := sorted({"t", "snapshot"} - view.keys()):
        raise TextError(path, number, f"a view needs “{missing[0]}”.")
    if view.get("look", CONTENTS) not in LOOKS:
        raise TextError(path, number, f"“look” is one of {', '.join(LOOKS)}.")
    return view


def _links(path: Path, paragraph: Paragraph) -> tuple[tuple[str, str], ...]:
    links = []
    for line, text in paragraph:
        if (match := _LINK.fullmatch(text)) is None:
            raise TextError(path, line, "a link is written [words](address).")
        links.append((match["words"], match["address"]))
    return tuple(links)


def _lines(path: Path) -> list[Line]:
    return list(enumerate(path.read_text(encoding="utf-8").splitlines(), 1))


def _head(path: Path) -> tuple[dict[str, Line], list[Line]]:
    """Split a text into the values of its head, each with its line, and the lines below."""
    lines = _lines(path)
    ends = [number for number, text in lines if text == "---"]
    if len(ends) < 2 or ends[0] != 1:
        raise TextError(path, 1, "the head stands between two lines “---”.")
    head = {}
    for number, text in lines[1 : ends[1] - 1]:
        key, separator, value = text.partition(": ")
        if not separator:
            raise TextError(path, number, "a line of the head is “key: value”.")
        head[key] = (number, value)
    return head, lines[ends[1] :]


def _sections(path: Path, lines: list[Line]) -> list[Section]:
    starts = [index for index, (_, text) in enumerate(lines) if text.startswith("# ")]
    for number, text in lines[: starts[0] if starts else None]:
        if text:
            raise TextError(path, number, "a text begins with a heading “# …”.")
    sections = []
    for start, stop in zip(starts, [*starts[1:], None], strict=True):
        number, heading = lines[start]
        paragraphs = _paragraphs(lines[start + 1 : stop])
        sections.append(Section(path, number, heading.removeprefix("# "), paragraphs))
    return sections


def _paragraphs(lines: list[Line]) -> tuple[Paragraph, ...]:
    groups = groupby(lines, key=lambda line: bool(line[1]))
    return tuple(list(group) for has_text, group in groups if has_text)


def _joined(paragraph: Paragraph) -> str:
    return " ".join(text for _, text in paragraph)
