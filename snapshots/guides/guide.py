"""The parts of a guided tour."""

from collections.abc import Mapping
from dataclasses import dataclass

CONTENTS, STATES, SELECTED = "contents", "states", "details"
"""The panels beside the picture: channel contents, process states, what is selected."""

LOOKS = (CONTENTS, STATES, SELECTED)


@dataclass(frozen=True)
class Term:
    """A word of the field, its meaning, and where it comes from."""

    name: str
    meaning: str
    source: str


@dataclass(frozen=True)
class Step:
    """One place of a tour and what is to be seen there.

    Attributes:
        view: the parameters of a link to the workbench (docs/workbench.md, "Links into it");
            without ``from`` and ``to`` it shows the whole recording.
        leads: the links to read on, as (words, address below /recordings/ID/).
        look: the panel that the text is about.
    """

    title: str
    text: str
    view: Mapping[str, str]
    leads: tuple[tuple[str, str], ...]
    look: str

    def to_json(self, recording: int) -> dict[str, object]:
        return {
            "title": self.title,
            "text": self.text,
            "view": dict(self.view),
            "leads": [[words, f"/recordings/{recording}/{to}"] for words, to in self.leads],
            "look": self.look,
        }


@dataclass(frozen=True)
class Guide:
    """The tour of one sample.

    Attributes:
        slug: the slug of the sample.
        promise: what the reader knows after the tour.
        terms: the words of the field that the tour uses.
    """

    slug: str
    promise: str
    terms: tuple[Term, ...]
    steps: tuple[Step, ...]

    def to_json(self, recording: int) -> dict[str, object]:
        return {
            "steps": [step.to_json(recording) for step in self.steps],
            "terms": [[term.name, term.meaning] for term in self.terms],
        }
