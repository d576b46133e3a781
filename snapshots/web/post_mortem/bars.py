"""Draw what the tasks of a checkpoint spent their time on as SVG, without a browser.

It shows the bars that ``static/js/lib/checking/figures.js`` shows in the HTML file.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.html import escape

from snapshots import quantities
from snapshots.domain.dataflow_logs.checkpoints.report import alignment_words
from snapshots.quantities import counted
from webapp import direction

MOST_BARS = 40
_PHASES = (
    ("start_delay", "start delay", "#0072b2"),
    ("alignment", "alignment", "#e69f00"),
    ("sync", "sync", "#cc79a7"),
    ("async", "async", "#009e73"),
)
_WIDTH, _LEFT, _RIGHT, _ROW, _TOP, _BAR = 960, 330, 90, 24, 40, 14
_INNER = _WIDTH - _LEFT - _RIGHT
_STYLE = "font:12px system-ui,sans-serif"
_SOFT = "#56626b"
_LONGEST_NAME = 24

Json = Mapping[str, Any]


def bars_svg(data: Json) -> str:
    """Return the bars of the tasks of a checkpoint, the slowest task first."""
    return "\n".join(_Drawing.of(data).lines()) + "\n"


@dataclass(frozen=True)
class _Drawing:
    """The tasks that are drawn, with how many are not."""

    tasks: Sequence[Json]
    hidden: int
    longest: int
    unit: str

    @classmethod
    def of(cls, data: Json) -> "_Drawing":
        by_time = sorted(data["tasks"], key=_in_all, reverse=True)
        shown = by_time[:MOST_BARS]
        longest = max(map(_in_all, shown), default=0)
        return cls(shown, len(by_time) - len(shown), longest, data["time_unit"])

    def lines(self) -> Iterator[str]:
        height = _TOP + _ROW * len(self.tasks) + 40
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
            f'viewBox="0 0 {_WIDTH} {height}" style="{_STYLE}">'
        )
        yield '<rect width="100%" height="100%" fill="#ffffff"/>'
        for place, (_, name, colour) in enumerate(_PHASES):
            x = _LEFT + 120 * place
            yield f'<rect x="{x}" y="12" width="12" height="12" fill="{colour}"/>'
            yield f'<text x="{x + 18}" y="22">{name}</text>'
        for row, task in enumerate(self.tasks):
            yield from self._row(_TOP + _ROW * row, task)
        yield f'<text x="{_LEFT}" y="{height - 12}" fill="{_SOFT}">{_text(self._words())}</text>'
        yield "</svg>"

    def _words(self) -> str:
        if not self.tasks:
            return "No times of single tasks are known"
        more = f"; {counted(self.hidden, 'more task')} not shown" if self.hidden else ""
        return f"The longest bar is {self._length(self.longest)}{more}"

    def _row(self, y: int, task: Json) -> Iterator[str]:
        yield (
            f'<text x="{_LEFT - 10}" y="{y + _BAR - 3}" text-anchor="end">'
            f"{_text(_label(task))}</text>"
        )
        x = float(_LEFT)
        for field, name, colour in _PHASES:
            width = (task[field] or 0) / max(self.longest, 1) * _INNER
            title = _text(f"{task['name']}, {name}: {self._amount(task, field)}")
            if width:
                yield (
                    f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_BAR}" '
                    f'fill="{colour}"><title>{title}</title></rect>'
                )
            x += width
        if any(task[field] is not None for field, *_ in _PHASES):
            words = _text(self._length(_in_all(task)))
            yield f'<text x="{x + 6:.1f}" y="{y + _BAR - 3}" fill="{_SOFT}">{words}</text>'

    def _amount(self, task: Json, field: str) -> str:
        if field == "alignment":
            return alignment_words(task[field], self.unit, takes_barriers=task["takes_barriers"])
        return "not known" if task[field] is None else self._length(task[field])

    def _length(self, amount: int) -> str:
        return quantities.duration(amount, self.unit)


def _in_all(task: Json) -> int:
    return sum(task[field] or 0 for field, *_ in _PHASES)


def _label(task: Json) -> str:
    """Name a task, with what is not known of it."""
    shown = _shortened(task["name"])
    unknown = [words for field, words, _ in _PHASES if _is_unknown(task, field)]
    if not unknown:
        return shown
    missing = "times" if all(task[field] is None for field, *_ in _PHASES) else ", ".join(unknown)
    return f"{shown} ({missing} not known)"


def _shortened(name: str) -> str:
    """Return a name without its middle if it is long; its end tells subtasks apart."""
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{name[: _LONGEST_NAME - 9]}…{name[-8:]}"


def _is_unknown(task: Json, field: str) -> bool:
    """Tell whether a phase is not known; a task that takes no barriers has no alignment."""
    is_none = field == "alignment" and not task["takes_barriers"]
    return task[field] is None and not is_none


def _text(text: str) -> str:
    return escape(direction.in_text(text))
