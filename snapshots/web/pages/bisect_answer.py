"""Make what the page shows of the first state at which a condition holds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from snapshots import quantities
from snapshots.domain.bisecting.wording import Words
from snapshots.domain.inventory.series import SAME
from snapshots.domain.properties import BUILT_IN
from snapshots.web.pages import links

MOST_CELLS = 200  # of the strip
SINGLE_CELLS = 3  # neighbours with the same answer that the strip shows one by one
MOST_ROWS = 25  # of each table
NOT_EVALUATED = "not evaluated"
LONGEST_VALUE = 160  # characters


def shown(answer: dict[str, Any], words: Words) -> dict[str, Any]:
    """Return a BisectAnswer with the strip, the rows of the tables and the addresses."""
    items = [item | {"address": _address(item)} for item in answer["items"]]
    cells = list(_cells(items, answer, words))
    rows = _around(items, answer)
    return answer | {
        "title": BUILT_IN[answer["property"]].title if answer["property"] else None,
        "nouns": words.nouns,
        "cells": cells[:MOST_CELLS],
        "cells_hidden": max(0, len(cells) - MOST_CELLS),
        "rows": rows,
        "all_rows": items,
        "rows_hidden": len(items) - len(rows),
        "first": _with_address(answer["first"]),
        "before": _with_address(answer["before"]),
        "difference": answer["difference"] and _difference(answer),
    }


def _address(item: Mapping[str, Any]) -> str:
    if item["snapshot"] is None:
        return f"/recordings/{item['recording']}/contents/{item['contents']}"
    return links.to_snapshot(item["recording"], item["snapshot"])


def _with_address(item: dict[str, Any] | None) -> dict[str, Any] | None:
    return item and item | {"address": _address(item)}


@dataclass(slots=True)
class _Run:
    """Neighbours in the series with the same answer, from place ``first`` to ``last``."""

    first: int
    last: int
    answer: str

    @property
    def count(self) -> int:
        return self.last - self.first + 1


def _cells(
    items: Sequence[dict[str, Any]], answer: Mapping[str, Any], words: Words
) -> Iterator[dict[str, Any]]:
    """Yield the cells of the strip: one state each, or neighbours with the same answer."""
    by_place = {item["place"]: item for item in items}
    for run in _runs(items, answer):
        if run.answer == NOT_EVALUATED:
            yield {"answer": run.answer, "title": words.count(run.count)}
        elif run.count <= SINGLE_CELLS:
            yield from (_cell(by_place[n], answer) for n in range(run.first, run.last + 1))
        else:
            yield _cell(by_place[run.first], answer)
            yield {"answer": run.answer, "title": words.count(run.count - 2)}
            yield _cell(by_place[run.last], answer)


def _runs(items: Sequence[dict[str, Any]], answer: Mapping[str, Any]) -> list[_Run]:
    """Return the runs of the series; the first state that holds and the one before stand alone."""
    alone = {item["place"] for item in (answer["first"], answer["before"]) if item}
    runs = [_Run(-1, -1, "")]
    for item in items:
        place, word = item["place"], item["answer"]["answer"]
        if place > runs[-1].last + 1:
            runs.append(_Run(runs[-1].last + 1, place - 1, NOT_EVALUATED))
        if runs[-1].answer != word or {place, place - 1} & alone:
            runs.append(_Run(place, place, word))
        runs[-1].last = place
    if runs[-1].last < answer["total"] - 1:
        runs.append(_Run(runs[-1].last + 1, answer["total"] - 1, NOT_EVALUATED))
    return runs[1:]


def _cell(item: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    first = answer["first"]
    return {
        "title": item["title"],
        "address": item["address"],
        "answer": item["answer"]["answer"],
        "sentence": item["answer"]["sentence"],
        "is_first": first is not None and first["place"] == item["place"],
    }


def _around(items: Sequence[dict[str, Any]], answer: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
    """Return the rows of the table: the evaluated states nearest to the first one."""
    first = answer["first"] or answer["before"]
    middle = first["place"] if first else 0
    nearest = sorted(items, key=lambda item: abs(item["place"] - middle))[:MOST_ROWS]
    return sorted(nearest, key=lambda item: item["place"])


def _difference(answer: Mapping[str, Any]) -> dict[str, Any]:
    difference, first, before = answer["difference"], answer["first"], answer["before"]
    changes = [_change(item) for item in difference["changes"]]
    past = difference["past"]
    return difference | {
        "changes": changes[:MOST_ROWS],
        "all_changes": changes,
        "changes_hidden": difference["changes_total"] - len(changes[:MOST_ROWS]),
        "past": past and _past(past, first),
        "checkpoints": difference["checkpoints"] and _checkpoints(difference["checkpoints"]),
        "address": _difference_address(first, before),
    }


def _difference_address(first: Mapping[str, Any], before: Mapping[str, Any]) -> str:
    """Return the address of the whole difference; empty for snapshots and for two uploads."""
    if first["contents"] is None or first["recording"] != before["recording"]:
        return ""
    return f"{_address(first)}/difference?since={before['contents']}"


def _change(item: Mapping[str, Any]) -> dict[str, Any]:
    sides = {side: _side(item, side) for side in ("before", "after")}
    return {"kind": item["kind"], "name": item["name"], "change": item["change"], **sides}


def _side(item: Mapping[str, Any], side: str) -> dict[str, Any]:
    """Return one side of a change as text, or why there is none."""
    absent = "added" if side == "before" else "removed"
    if item["change"] == absent:
        return {"text": "not in its scope", "is_soft": True}
    value = item[side]
    if value is None:
        return {"text": "not known", "is_soft": True}
    if item["kind"] == "process":
        return {"text": _clipped(quantities.value(value)), "is_soft": False}
    number = item["counts"][0 if side == "before" else 1]
    if not number:
        return {"text": "empty", "is_soft": True}
    listed = "; ".join(map(quantities.value, value))
    return {
        "text": _clipped(f"{quantities.counted(number, 'message')}: {listed}"),
        "is_soft": False,
    }


def _clipped(text: str) -> str:
    hidden = len(text) - LONGEST_VALUE
    if hidden <= 0:
        return text
    return f"{text[:LONGEST_VALUE]}… and {quantities.counted(hidden, 'more character')}"


def _past(past: Mapping[str, Any], first: Mapping[str, Any]) -> dict[str, Any]:
    """Return the causal past with links to its events in the workbench."""
    causes = [
        cause
        | {
            "address": links.to_workbench(
                first["recording"], snapshot=first["snapshot"], event=links.event(cause)
            )
        }
        for cause in past["causes"]
    ]
    return {
        **past,
        "causes": causes[:MOST_ROWS],
        "causes_hidden": past["causes_total"] - len(causes[:MOST_ROWS]),
        "processes": past["processes"][:MOST_ROWS],
        "all_processes": past["processes"],
        "processes_hidden": past["processes_total"] - len(past["processes"][:MOST_ROWS]),
    }


def _checkpoints(change: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rows of what differs between two checkpoints: the states of each operator."""
    differing = [item for item in change["operators"] if item["change"] != SAME]
    rows = [
        {
            "operator": operator["name"] or operator["operator"],
            "keys": _keys(state["counts"] or {}),
            **state,
        }
        for operator in differing
        for state in operator["states"]
        if _differs(state)
    ]
    return {
        **change,
        "differing": len(differing),
        "rows": rows[:MOST_ROWS],
        "all_rows": rows,
        "rows_hidden": len(rows) - len(rows[:MOST_ROWS]),
    }


def _keys(counts: Mapping[str, int]) -> str:
    words = (f"{quantities.thousands(count)} {kind}" for kind, count in counts.items() if count)
    return ", ".join(words)


def _differs(state: Mapping[str, Any]) -> bool:
    """Tell whether a state differs, or may differ."""
    counts = state["counts"] or {}
    moved = sum(count for word, count in counts.items() if word != SAME)
    return state["change"] != SAME or state["counts"] is None or bool(moved)
