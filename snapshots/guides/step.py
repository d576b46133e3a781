"""What a guided tour is made of."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True)
class Step:
    """title, text: what to see and why. view: parameters of a link to the workbench (see
    docs/architecture.md), in its words; without ``from`` and ``to`` the whole recording is in
    view. leads: what to open next, (words, address below /recordings/ID/)."""

    title: str
    text: str
    view: Mapping[str, str] = field(default_factory=dict)
    leads: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Guide:
    """slug: of the sample. terms: names in terms.TERMS that the tour uses."""

    slug: str
    steps: tuple[Step, ...]
    terms: tuple[str, ...] = ()

    def to_json(self, recording: int) -> dict[str, object]:
        return {
            "steps": [
                asdict(step)
                | {"leads": [[words, f"/recordings/{recording}/{to}"] for words, to in step.leads]}
                for step in self.steps
            ],
            "terms": list(self.terms),
        }
