"""What a guided tour is made of."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from snapshots.guides.terms import MEANINGS

CONTENTS, STATES, SELECTED = "contents", "states", "details"
"""The panels beside the picture: channel contents, process states, what is selected."""


@dataclass(frozen=True)
class Step:
    """title, text: what to see and why. view: parameters of a link to the workbench
    (docs/workbench.md, "Links into it"); without ``from`` and ``to`` the whole recording is in
    view. leads: what to open next, (words, address below /recordings/ID/). look: the panel that
    the text speaks of."""

    title: str
    text: str
    view: Mapping[str, str] = field(default_factory=dict)
    leads: tuple[tuple[str, str], ...] = ()
    look: str = CONTENTS

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
    """slug: of the sample. promise: what one knows after it. terms: names in terms.TERMS that
    the tour uses."""

    slug: str
    promise: str
    steps: tuple[Step, ...]
    terms: tuple[str, ...] = ()

    def to_json(self, recording: int) -> dict[str, object]:
        return {
            "steps": [step.to_json(recording) for step in self.steps],
            "terms": [[name, MEANINGS[name]] for name in self.terms],
        }
