"""Watch the restore of an engine's checkpoint: the beats of a restore plan, from task to task.

All that is said and drawn comes from the plan that the page *Restore plan* shows, so the two pages
say the same. The picture has the subtasks of the checkpoint on the left and those of the restored
job on the right. What moves between them are traces of Plotly, as in a restored run.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from snapshots.domain.inventory.restore_answer import NO, YES
from snapshots.domain.model.defects import times
from snapshots.domain.model.listing import listed
from snapshots.payloads.restored import RestoredEnding, RestoredFrame, RestoredRow
from snapshots.quantities import file_size

TITLES = ("The job is emptied", "States are set", "Records in flight are back", "On it goes")
SPARK_TITLES = ("The query is emptied", "States are loaded", "Nothing is in flight", "On it goes")
SPARK = "spark"
MOST_ROWS = 60
MOST_DRAWN = 40  # subtasks on one side
MOST_SAID = 6  # operators, sources or sinks in a sentence
MOST_SPLITS = 20  # of a source, in the table
LONGEST = 18  # characters of a subtask in the picture, which fit beside it on a phone
END = 3  # the place of the last beat; each beat is one place
LEFT, RIGHT = 0.0, 1.0
_FLIGHT_OFFSET = 0.22  # how much lower the line of what is in flight ends
_MISSING = "–"


@dataclass(frozen=True)
class Block:
    """The subtasks of one operator in the picture, from the row ``top`` on."""

    name: str
    top: int
    before: int
    after: int


def frames_of(plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the frames of all beats; if the plan says no, they end where it goes wrong."""
    drawing = _Drawing(plan)
    last = 1 if plan["answer"] == NO else END
    frames = []
    for place in range(last + 1):
        frames.append(
            {
                "axis": "order",
                "from": place - 1 if place else None,
                "at": place,
                "ends": place == last,
                "exact": True,
                "events_total": 0,
                "restored": _beat(plan, drawing, place, is_last=place == last),
            }
        )
    return frames


def not_drawn(plan: Mapping[str, Any]) -> str:
    """Return how many operators with state the picture leaves out, as a sentence, or nothing."""
    hidden = sum(bool(item["states"] or item["before"]) for item in plan["operators"])
    hidden -= len(_Drawing(plan).blocks)
    return f"{times(hidden, 'operator is', 'operators are')} not drawn." if hidden > 0 else ""


def titles_of(engine: str) -> tuple[str, ...]:
    """Return the names of the beats in the words of an engine."""
    return SPARK_TITLES if engine == SPARK else TITLES


def _beat(
    plan: Mapping[str, Any], drawing: "_Drawing", place: int, *, is_last: bool
) -> RestoredFrame:
    is_refused = plan["answer"] == NO and place == 1
    problems = plan["problems"] if is_refused else []
    rows = list(_rows(plan, place, is_refused=is_refused))
    says = (_emptied, _states, _in_flight, _going_on)[place]
    return {
        "beat": place + 1,
        "title": "It is refused" if is_refused else titles_of(plan["engine"])[place],
        "sentence": plan["headline"] if is_refused else " ".join(says(plan)),
        "faults": [{"place": 1, "kind": "unknown", "sentence": item} for item in problems],
        "is_fault": is_refused,
        "sums": None,
        "rows": rows[:MOST_ROWS],
        "differ": 0,
        "counted": f"{len(rows) - MOST_ROWS:,} more rows are not shown"
        if len(rows) > MOST_ROWS
        else "",
        "ending": _ending(plan) if is_last else None,
        "moving": [drawing.moving(0 if is_refused else place)],
        "pictures": [drawing.still()] if place == 0 else None,
    }


def _ending(plan: Mapping[str, Any]) -> RestoredEnding:
    alike = {YES: True, NO: False}.get(plan["answer"])
    return {"alike": alike, "sentence": plan["headline"]}


# --- what is said --------------------------------------------------------------------------------


def _emptied(plan: Mapping[str, Any]) -> Iterator[str]:
    operators = plan["operators"]
    what = "partition" if plan["engine"] == SPARK else "subtask"
    tasks = sum(item["parallelism_after"] or 0 for item in operators)
    yield f"{times(tasks, what)} of {times(len(operators), 'operator')} hold no state."
    if plan["thrown_away"]:
        yield from (item["sentence"] for item in plan["thrown_away"][:MOST_SAID])


def _states(plan: Mapping[str, Any]) -> Iterator[str]:
    with_state = [item for item in plan["operators"] if item["states"]]
    if not with_state:
        yield "No operator keeps state."
    for item in with_state[:MOST_SAID]:
        name, after = item["name"] or item["operator"], item["after"]
        keyed = sum(1 for subtask in after if subtask["key_groups"])
        width = item["parallelism_after"]
        if item["problem"]:
            yield item["problem"]
        elif keyed:
            yield f"{name}: its key groups go to {times(keyed, 'subtask')}."
        else:
            yield f"{name}: {with_rule(item)}" if width else f"{name} has no subtask."
    if len(with_state) > MOST_SAID:
        yield f"{len(with_state) - MOST_SAID:,} more operators get theirs."


def with_rule(operator: Mapping[str, Any]) -> str:
    """Return the rule by which the first state of an operator is given out."""
    rule = next((state["rule"] for state in operator["states"]), "")
    return rule[:1].lower() + rule[1:]


def _in_flight(plan: Mapping[str, Any]) -> Iterator[str]:
    if plan["engine"] == SPARK:
        yield "A batch ends with nothing in flight."
        return
    yield from plan["in_flight"] or ("No channel of the checkpoint holds a record.",)
    for edge in plan["edges"][:MOST_SAID]:
        ends = f"{edge['source'] or '?'} → {edge['target'] or '?'}"
        yield f"{ends}: {edge['rule']}"


def _going_on(plan: Mapping[str, Any]) -> Iterator[str]:
    yield from plan["sources"]
    if plan["again"]:
        yield plan["again"]["sentence"]
    yield from plan["sinks"]
    names = [item["name"] or item["operator"] for item in plan["written_again"]]
    if names:
        known = [item["transactional"] for item in plan["written_again"]]
        word = "commit or abort their transactions" if all(known) else "may write again"
        yield f"{listed(names, MOST_SAID)} {word}."


# --- the table -----------------------------------------------------------------------------------


def _rows(plan: Mapping[str, Any], place: int, *, is_refused: bool) -> Iterator[RestoredRow]:
    """Yield what comes last first: sources and sinks, what is in flight, then states."""
    if place >= END:
        yield from _ends(plan)
    if place >= 2:
        yield from _receivers(plan)
    for item in plan["operators"]:
        name, before = item["name"] or item["operator"], item["before"]
        old = {subtask["index"]: subtask for subtask in before}
        new = {subtask["index"]: subtask for subtask in item["after"]}
        for index in sorted(old.keys() | new.keys()):
            here = "without state" if place < 1 or is_refused else _new(new.get(index))
            texts = [_old(old.get(index)), here if index in new else _MISSING]
            yield {"name": f"{name}[{index}]", "of": "state", "texts": texts, "verdict": "same"}


def _old(subtask: Mapping[str, Any] | None) -> str:
    return _MISSING if subtask is None else ", ".join([*_groups(subtask), _size(subtask)])


def _new(subtask: Mapping[str, Any] | None) -> str:
    if subtask is None:
        return _MISSING
    spans = [_span("", *span).strip() for span in subtask["sources"]]
    sources = [f"from {listed(spans, MOST_SAID)}"] if spans else []
    return ", ".join([*_groups(subtask), _size(subtask), *sources])


def _groups(subtask: Mapping[str, Any]) -> list[str]:
    return [_span("key groups", *subtask["key_groups"])] if subtask["key_groups"] else []


def _span(noun: str, first: int, last: int) -> str:
    return f"{noun} {first}" if first == last else f"{noun} {first} to {last}"


def _size(subtask: Mapping[str, Any]) -> str:
    size = subtask["bytes"]
    return "size not known" if size is None else file_size(size)


def _receivers(plan: Mapping[str, Any]) -> Iterator[RestoredRow]:
    for edge in plan["edges"]:
        name = f"{edge['source'] or '?'} → {edge['target'] or '?'}"
        for item in edge["receivers"]:
            old = _span("channels of subtask", item["first"], item["last"])
            size = "size not known" if item["bytes"] is None else file_size(item["bytes"])
            texts = [old, f"subtask {item['index']} reads them: {size}"]
            yield {"name": name, "of": "channel", "texts": texts, "verdict": "same"}


def _ends(plan: Mapping[str, Any]) -> Iterator[RestoredRow]:
    for item in plan["read_again"]:
        name = item["name"] or item["operator"]
        for split in item["splits"][:MOST_SPLITS]:
            yield _end(name, f"split {split['split']}", split["sentence"])
        if not item["splits"]:
            yield _end(name, "source", item["rule"])
    for item in plan["written_again"]:
        yield _end(item["name"] or item["operator"], "sink", item["rule"])


def _end(name: str, what: str, sentence: str) -> RestoredRow:
    return {"name": name, "of": "state", "texts": [what, sentence], "verdict": "same"}


# --- the picture ---------------------------------------------------------------------------------


class _Drawing:
    """The subtasks before and after, and the lines along which state and records go."""

    def __init__(self, plan: Mapping[str, Any]) -> None:
        self.plan = plan
        self.blocks = {block.name: block for block in self._blocks()}
        self.states = list(self._moves())
        self.flights = list(self._flights())

    def _blocks(self) -> Iterator[Block]:
        top = 0
        for item in self.plan["operators"]:
            before, after = len(item["before"]), item["parallelism_after"] or 0
            rows = max(before, after)
            if not item["states"] and not item["before"]:
                continue
            if top + rows > MOST_DRAWN:
                return
            yield Block(item["name"] or item["operator"], top, before, after)
            top += rows + 1

    def _moves(self) -> Iterator[tuple[int, int]]:
        """Yield the rows of an old and a new subtask between which state moves."""
        for item in self.plan["operators"]:
            block = self.blocks.get(item["name"] or item["operator"])
            if block is None or item["problem"]:
                continue
            for subtask in item["after"]:
                spans = subtask["sources"] or self._all(block, subtask)
                for first, last in spans:
                    for old in range(first, min(last + 1, block.before)):
                        yield block.top + old, block.top + subtask["index"]

    def _all(self, block: Block, subtask: Mapping[str, Any]) -> list[tuple[int, int]]:
        """Return the spans of state that everybody gets from all."""
        return [(0, block.before - 1)] if subtask["bytes"] and block.before else []

    def _flights(self) -> Iterator[tuple[int, int]]:
        for edge in self.plan["edges"]:
            block = self.blocks.get(edge["target"] or "")
            for item in edge["receivers"] if block is not None else ():
                for old in range(item["first"], item["last"] + 1, item["step"]):
                    if block is not None and item["index"] < block.after:
                        yield block.top + old, block.top + item["index"]

    @property
    def rows(self) -> int:
        return max((block.top + max(block.before, block.after) for block in self.blocks.values()),
                   default=1)  # fmt: skip

    def still(self) -> dict[str, Any]:
        """Return the figure without what moves."""
        return {
            "data": [
                self._lines(self.states, 0, "var(--color-lane)", "solid"),
                self._lines(self.flights, _FLIGHT_OFFSET, "var(--color-message)", "dot"),
            ],
            "layout": self._layout(),
        }

    def _lines(
        self, moves: list[tuple[int, int]], offset: float, colour: str, dash: str
    ) -> dict[str, Any]:
        x: list[float | None] = []
        y: list[float | None] = []
        for old, new in moves:
            x += [LEFT, RIGHT, None]
            y += [old + offset, new + offset, None]
        return {
            "type": "scatter", "mode": "lines", "x": x, "y": y, "hoverinfo": "skip",
            "line": {"color": colour, "width": 1.5, "dash": dash},
        }  # fmt: skip

    def _layout(self) -> dict[str, Any]:
        return {
            "height": 24 * self.rows + 90,
            "margin": {"l": 8, "r": 8, "t": 30, "b": 12},
            "paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)",
            "showlegend": False, "dragmode": False, "hovermode": False,
            "font": {"family": "system-ui, sans-serif", "size": 12, "color": "var(--color-text)"},
            "xaxis": {"range": [-1.25, 2.25], "fixedrange": True, "visible": False},
            "yaxis": {"range": [self.rows + 0.2, -1.2], "fixedrange": True, "visible": False},
            "annotations": [
                self._head(LEFT, "In the checkpoint"), self._head(RIGHT, "After the restore"),
            ],
        }  # fmt: skip

    def _head(self, x: float, text: str) -> dict[str, Any]:
        return {
            "x": x, "y": 1, "yref": "paper", "yanchor": "bottom", "text": text,
            "showarrow": False, "font": {"color": "var(--color-text-soft)", "size": 12},
        }  # fmt: skip

    def moving(self, place: int) -> list[dict[str, Any]]:
        """Return the pieces of state, the records in flight, and the subtasks, at a beat."""
        return [
            self._pieces(self.states, 0, place >= 1, "var(--color-recorded)", "square"),
            self._pieces(self.flights, _FLIGHT_OFFSET, place >= 2, "var(--color-accent)", "circle"),
            self._old_subtasks(),
            self._new_subtasks(is_set=place >= 1),
        ]

    def _pieces(
        self,
        moves: list[tuple[int, int]],
        offset: float,
        is_over: bool,
        colour: str,
        symbol: str,
    ) -> dict[str, Any]:
        return {
            "type": "scatter", "mode": "markers", "hoverinfo": "skip", "cliponaxis": False,
            "x": [0.9 if is_over else 0.1 for _ in moves] or [-9],
            "y": [_along(old, new, is_over=is_over) + offset for old, new in moves] or [0],
            "ids": [str(number) for number in range(len(moves))] or ["none"],
            "marker": {"size": 9, "color": colour, "symbol": symbol},
        }  # fmt: skip

    def _old_subtasks(self) -> dict[str, Any]:
        rows = [
            (block.top + index, f"{block.name}[{index}]")
            for block in self.blocks.values()
            for index in range(block.before)
        ]
        return self._subtasks(LEFT, rows, "middle left", is_full=True)

    def _new_subtasks(self, *, is_set: bool) -> dict[str, Any]:
        rows = [
            (block.top + index, f"{block.name}[{index}]")
            for block in self.blocks.values()
            for index in range(block.after)
        ]
        return self._subtasks(RIGHT, rows, "middle right", is_full=is_set)

    def _subtasks(
        self, x: float, rows: list[tuple[int, str]], where: str, *, is_full: bool
    ) -> dict[str, Any]:
        fill = "var(--color-recorded)" if is_full else "var(--color-surface)"
        return {
            "type": "scatter", "mode": "markers+text", "hoverinfo": "skip", "cliponaxis": False,
            "x": [x] * len(rows), "y": [row for row, _ in rows],
            "ids": [str(row) for row, _ in rows],
            "text": [escape(_clipped(name)) for _, name in rows], "textposition": where,
            "marker": {
                "size": 15, "color": [fill] * len(rows),
                "line": {"color": "var(--color-recorded)", "width": 2},
            },
        }  # fmt: skip


def _along(old: int, new: int, *, is_over: bool) -> float:
    return old + (new - old) * (0.9 if is_over else 0.1)


def _clipped(name: str) -> str:
    """Return a name with its end, which has the number of the subtask."""
    return name if len(name) <= LONGEST else f"{name[:8]}…{name[-9:]}"
