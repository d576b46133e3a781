"""The page of a restore plan: where state goes with another parallelism, drawn and in tables."""

from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

import orjson
from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from snapshots import access
from snapshots.answers import inventory, restore
from snapshots.domain.inventory.model import TIMERS, OperatorInventory
from snapshots.domain.inventory.restore_answer import NO, NOT_KNOWN, YES
from snapshots.domain.inventory.restore_plan import SPARK
from snapshots.domain.inventory.spark_plan import fixed_partitions
from snapshots.domain.inventory.upgrade.upgrade import has_state
from snapshots.domain.model.defects import times
from snapshots.problems import Refused
from snapshots.store.inventory.reading import as_checkpoint
from snapshots.web.pages.rendering import page
from snapshots.web.tables.sending import show

MOST_SUBTASKS = 100  # of an operator
MOST_RECEIVERS = 100  # of an edge
MOST_TICKED = 1000  # operators that keep their parallelism, or are left out
MOST_POSITIONS = 20  # of a state, on the page
LONGEST_SHOWN = 300  # characters of a position
WIDTH, HEIGHT = 1000, 60  # of a picture's half
VERDICTS = {YES: "consistent", NO: "inconsistent", NOT_KNOWN: "unknown"}  # their signs
_GAP = 2


@dataclass(frozen=True)
class Asked:
    """What the address asks of a restore; ``typed`` is the parallelism as it stands there."""

    typed: str
    kept: list[str]
    without: list[str]

    @property
    def parallelism(self) -> int:
        """The parallelism; 0, which no plan takes, if it is no number."""
        return int(self.typed) if self.typed.isdecimal() and len(self.typed) < 9 else 0

    @property
    def query(self) -> str:
        """The same as a query of an address."""
        fields = {"parallelism": self.typed, "keep": self.kept, "without": self.without}
        return urlencode(fields, doseq=True)


def asked(request: HttpRequest, engine: str, checkpoint: dict[str, Any]) -> Asked:
    """Return what the address asks; by default the parallelism of the widest operator."""
    kept, without = (request.GET.getlist(name)[:MOST_TICKED] for name in ("keep", "without"))
    typed = request.GET.get("parallelism", "") or str(_usual(engine, checkpoint))
    return Asked(typed, kept, without)


@page
@require_safe
def of_restore(request: HttpRequest, pk: int, number: int) -> HttpResponseBase:
    """Show the answer and the plan for ``?parallelism=``, by default for the widest operator's.

    Each ``keep`` is the id of an operator that keeps its parallelism, each ``without`` the id of
    one that the restored job does not have.
    """
    recording = access.recording(request.user, pk)
    opened = inventory.opened(recording)
    checkpoint = inventory.checkpoint(opened, number)
    engine = opened.upload["engine"]
    question = asked(request, engine, checkpoint)
    usual = _usual(engine, checkpoint)
    context = {
        "recording": recording,
        "number": number,
        "checkpoint": checkpoint,
        "engine": engine,
        "narrower": _narrower(engine, checkpoint, usual),
        "removable": _removable(engine, checkpoint),
        "kept": question.kept,
        "without": question.without,
        "query": question.query,
        "typed": question.typed,
    }
    try:
        plan = restore.restore_plan(
            recording, opened, number, question.parallelism, question.kept, question.without
        )
        context |= {"plan": _shown(plan), "whole_plan": plan}
    except Refused as refused:
        context["refused"] = refused.detail
    status = 422 if "refused" in context else 200
    return show(request, "snapshots/restore_plan/restore_plan.html", context, status=status)


def _usual(engine: str, checkpoint: dict[str, Any]) -> int:
    """Return the parallelism that the job had: that of its widest operator."""
    if engine == SPARK and (fixed := fixed_partitions(as_checkpoint(checkpoint))):
        return fixed
    return max((item["parallelism"] or 1 for item in checkpoint["operators"]), default=1)


def _narrower(engine: str, checkpoint: dict[str, Any], usual: int) -> list[dict[str, Any]]:
    """Return the operators that ran with fewer subtasks than the widest, and may keep them."""
    if engine == SPARK:
        return []
    return [item for item in checkpoint["operators"] if (item["parallelism"] or usual) != usual]


def _removable(engine: str, checkpoint: dict[str, Any]) -> list[OperatorInventory]:
    """Return the operators with state, which the restored job may lack."""
    if engine == SPARK:
        return []
    return [item for item in as_checkpoint(checkpoint).operators if has_state(item)]


def _shown(plan: dict[str, Any]) -> dict[str, Any]:
    return plan | {
        "verdict": VERDICTS[plan["answer"]],
        "operators": [_operator(item) for item in plan["operators"]],
        "edges": [_edge(item) for item in plan["edges"]],
        "read_again": [_source(item) for item in plan["read_again"]],
        "variants": [_variant(item, plan["answer"]) for item in plan["variants"]],
    }


def _variant(item: dict[str, Any], asked: str) -> dict[str, Any]:
    """Add the verdict whose sign stands for the answer, and whether ``asked`` is another."""
    return item | {"verdict": VERDICTS[item["answer"]], "is_other": item["answer"] != asked}


def _source(item: dict[str, Any]) -> dict[str, Any]:
    """Return a source with the first positions of its splits, or else of its states, as text."""
    if item["splits"]:
        sentences = [*_unknown(item), *(split["sentence"] for split in item["splits"])]
        state = next(iter(item["states"]), "offsets")
        rows = [_first("offset log" if not item["states"] else state, sentences, len(sentences))]
    else:
        rows = [
            _first(
                state["state"],
                [_position(entry) for entry in state["items"][:MOST_POSITIONS]],
                state["total"],
            )
            for state in item["positions"]
        ]
    return item | {"positions": rows}


def _unknown(item: dict[str, Any]) -> list[str]:
    """Return what is said of the splits beside these whose form is not known."""
    count = item["unknown"]
    has = "has" if count == 1 else "have"
    return [f"{times(count, 'split')} {has} a form that is not known here."] if count else []


def _first(state: str, texts: list[str], total: int) -> dict[str, Any]:
    shown = texts[:MOST_POSITIONS]
    return {"state": state, "shown": shown, "hidden": total - len(shown)}


def _position(entry: dict[str, Any]) -> str:
    """Return a position as text; of one whose form is not known, the first bytes in hex."""
    value = entry["value"]
    is_bytes = isinstance(value, dict) and value.keys() == {"hex"}
    if value is None or is_bytes:
        head = value["hex"] if is_bytes else entry["head"] or entry["reason"]
        return _clipped(f"{entry['bytes']:,} bytes of a form that is not known here: {head}")
    return _clipped(orjson.dumps(value).decode())


def _clipped(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"


def _operator(item: dict[str, Any]) -> dict[str, Any]:
    """Return an operator with its picture, and the number of subtasks that are not shown."""
    sizes = [subtask["bytes"] or 0 for subtask in (*item["before"], *item["after"])]
    largest = max(sizes, default=0) or 1
    return item | {
        "has_timers": any(state["kind"] == TIMERS for state in item["states"]),
        "largest": largest,
        "picture": _picture(item, largest),
        "before": item["before"][:MOST_SUBTASKS],
        "after": item["after"][:MOST_SUBTASKS],
        "hidden": max(0, len(item["before"]) - MOST_SUBTASKS)
        + max(0, len(item["after"]) - MOST_SUBTASKS),
    }


def _edge(item: dict[str, Any]) -> dict[str, Any]:
    receivers = item["receivers"]
    return item | {
        "largest": max((receiver["bytes"] or 0 for receiver in receivers), default=0) or 1,
        "receivers": receivers[:MOST_RECEIVERS],
        "hidden": max(0, len(receivers) - MOST_RECEIVERS),
    }


@dataclass(frozen=True)
class Bar:
    """A subtask in the picture: as wide as its key groups, as high as its bytes."""

    index: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Picture:
    """The bars of the subtasks before, above a middle line, and of those after, below it."""

    before: list[Bar]
    after: list[Bar]
    has_key_groups: bool
    width: int = WIDTH
    middle: int = HEIGHT
    height: int = 2 * HEIGHT


def _picture(item: dict[str, Any], largest: int) -> Picture | None:
    """Return the picture, or None if there are no bytes or too many subtasks to see anything."""
    sides = item["before"], item["after"]
    sizes = [subtask["bytes"] for side in sides for subtask in side]
    if not all(sides) or None in sizes or not any(sizes) or max(map(len, sides)) > MOST_SUBTASKS:
        return None
    groups = item["max_parallelism"] if any(subtask["key_groups"] for subtask in sides[1]) else None
    before, after = (_bars(side, groups, largest) for side in sides)
    below = [replace(bar, y=HEIGHT) for bar in after]
    return Picture(before, below, groups is not None)


def _bars(side: list[dict[str, Any]], groups: int | None, largest: int) -> list[Bar]:
    bars = []
    for number, subtask in enumerate(side):
        begin, end, total = number, number + 1, len(side)
        if groups is not None:
            if subtask["key_groups"] is None:
                continue
            begin, end, total = subtask["key_groups"][0], subtask["key_groups"][1] + 1, groups
        width = WIDTH * (end - begin) / total
        height = HEIGHT * subtask["bytes"] / largest
        bars.append(
            Bar(
                subtask["index"],
                x=round(WIDTH * begin / total, 2),
                y=round(HEIGHT - height, 2),
                width=round(max(width - _GAP, width / 2), 2),
                height=round(height, 2),
            )
        )
    return bars
