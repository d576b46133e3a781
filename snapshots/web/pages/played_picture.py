"""Lay out a played run as a space-time picture: one lane for each bank, time from left to right."""

from collections.abc import Iterable
from typing import Any

from snapshots.domain.model.recording import (
    MARKER_RECEIVE,
    MARKER_SEND,
    RECEIVE,
    RECORD_STATE,
    SEND,
    LoggedEvent,
)
from snapshots.domain.simulators.played import ME, NAMES

WIDTH, HEIGHT = 880, 226
LEFT, TOP, LANE = 46, 36, 76
LATEST = 14_000  # us; no message is under way later
STUB = 46  # pixels of an arrow whose other end the process does not see


def picture(events: Iterable[LoggedEvent], wrong: set[tuple[str, str]], *, is_over: bool) -> Any:
    """Return the shapes of the picture, in pixels.

    Args:
        wrong: the messages that a witness names, as (channel, message).
        is_over: whether all is shown; else only what the process of the person has seen.
    """
    shown = [event for event in events if is_over or event.process == ME]
    recorded = {event.process: _x(event) for event in shown if event.kind == RECORD_STATE}
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "lanes": [{"name": name, "y": _y(name), "is_mine": name == ME} for name in NAMES],
        "right": WIDTH - 10,
        "arrows": _arrows(shown, wrong) if is_over else list(map(_stub, filter(_travels, shown))),
        "records": [{"x": x - 6, "y": _y(name) - 6, "name": name} for name, x in recorded.items()],
        "cut": _cut(recorded) if is_over and len(recorded) == len(NAMES) else "",
    }


def _travels(event: LoggedEvent) -> bool:
    return event.kind in (SEND, RECEIVE, MARKER_SEND, MARKER_RECEIVE)


def _stub(event: LoggedEvent) -> dict[str, Any]:
    """Return the half of an arrow that B sees."""
    source, _, target = str(event.channel).partition("->")
    is_mine = source == ME
    x, y = _x(event), _y(ME)
    away = LANE * 0.6 * (1 if _y(target if is_mine else source) > y else -1)
    ends = (x, y, x + STUB, y + away) if is_mine else (x - STUB, y + away, x, y)
    return _arrow(event, *ends, is_wrong=False)


def _arrows(events: list[LoggedEvent], wrong: set[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return an arrow for each message and each marker that arrived; they come in order."""
    waiting: dict[tuple[Any, ...], list[LoggedEvent]] = {}
    arrows = []
    for event in filter(_travels, events):
        key = event.channel, event.message
        if event.kind in (SEND, MARKER_SEND):
            waiting.setdefault(key, []).append(event)
            continue
        sent = waiting[key].pop(0)
        ends = _x(sent), _y(sent.process), _x(event), _y(event.process)
        is_wrong = (str(event.channel), str(event.message)) in wrong
        arrows.append(_arrow(sent, *ends, is_wrong=is_wrong))
    return arrows


def _arrow(
    event: LoggedEvent, x1: float, y1: float, x2: float, y2: float, *, is_wrong: bool
) -> dict[str, Any]:
    is_marker = event.kind in (MARKER_SEND, MARKER_RECEIVE)
    words = "marker" if is_marker else f"{event.message}: {event.value}"
    kind = "marker" if is_marker else "message"
    return {
        "path": f"M{x1:.0f} {y1:.0f}L{x2:.0f} {y2:.0f}",
        "kind": f"{kind} is-wrong" if is_wrong else kind,
        "head": "marker" if is_marker else "message",
        "words": words,
        "label": "" if is_marker else str(event.value),
        "x": f"{x1 + (x2 - x1) * 0.36:.0f}",
        "y": f"{y1 + (y2 - y1) * 0.36 + 4:.0f}",
    }


def _cut(recorded: dict[Any, float]) -> str:
    """Return the line through the places where the banks recorded."""
    xs = [recorded[name] for name in NAMES]
    points = [(xs[0], TOP - 24), *((x, _y(name)) for x, name in zip(xs, NAMES, strict=True))]
    points.append((xs[-1], _y(NAMES[-1]) + 24))
    return " ".join(f"{x:.0f},{y:.0f}" for x, y in points)


def _x(event: LoggedEvent) -> float:
    assert event.at is not None  # every event of a played run has a time
    return LEFT + event.at / LATEST * (WIDTH - LEFT - 20)


def _y(name: str) -> int:
    return TOP + LANE * NAMES.index(name)
