"""Make the figure of one order of a run's events: a lane for each process, a column for each event.

In ``meta`` of a trace stand the events by their numbers, so that the browser can draw any other
order of them. Two numbers behind the last event stand for before the run and after it.
"""

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from typing import Any

from snapshots.web.figures import look
from snapshots.web.figures.look import Part, colour

MOST_LANES = 12  # with more processes, those without events have none
MOST_NAMED = 60  # events that can be named in a chart's width
MANY = 400  # events, which are drawn small
LONGEST_NAME = 16  # characters
LETTER = 8  # pixels
MOST_TICKS = 12
BESIDE = 0.3  # lanes, from a message's end that is outside of the run


def figure(proof: Mapping[str, Any], state: int | None) -> dict[str, Any]:
    """Return the figure of a run as it was.

    Args:
        proof: result of a job that reorders a run.
        state: how many events come before the recorded state; None if it is not drawn.
    """
    events = proof["events"]
    lanes = lanes_of(proof)
    row = {process: number for number, process in enumerate(lanes)}
    traces = [*_messages(events, row), _dots(events, row, pre=True), _dots(events, row, pre=False)]
    for trace in traces:
        trace["x"] = columns(trace["meta"], len(events))
    return {
        "data": [trace for trace in traces if trace["meta"]],
        "layout": _layout(lanes, len(events), state),
        "config": {"displayModeBar": False},
    }


def columns(numbers: Sequence[int | None], count: int) -> list[float | None]:
    """Return where events, or the ends outside of the run, stand in the order of the run."""
    outside = {count: 0.4, count + 1: count + 0.6}
    return [None if number is None else outside.get(number, number + 1) for number in numbers]


def lanes_of(proof: Mapping[str, Any]) -> list[str]:
    """Return the processes that are drawn, in the order of the topology."""
    acting = dict.fromkeys(event["process"] for event in proof["events"])
    every = dict.fromkeys([*proof["start"]["processes"], *acting])
    if len(every) <= MOST_LANES:
        return list(every)
    return [process for process in every if process in acting] or list(every)


def messages_of(events: Sequence[Mapping[str, Any]]) -> list[tuple[int | None, int | None]]:
    """Return the numbers of the events that send and receive each message, None for those outside.

    The k-th send of an id on a channel meets its k-th receive.
    """
    ends: list[tuple[int | None, int | None]] = []
    waiting: dict[tuple[str, str], deque[int]] = defaultdict(deque)
    for number, event in enumerate(events):
        if event["kind"] == "send":
            waiting[event["channel"], event["message"]].append(len(ends))
            ends.append((number, None))
        elif event["kind"] == "receive":
            sent = waiting[event["channel"], event["message"]]
            if sent:
                place = sent.popleft()
                ends[place] = (ends[place][0], number)
            else:
                ends.append((None, number))
    return ends


def swaps_of(events: Sequence[Mapping[str, Any]]) -> int:
    """Return how many swaps of neighbours bring all prerecording events to the front."""
    swaps = behind = 0
    for event in events:
        swaps += behind if event["prerecording"] else 0
        behind += not event["prerecording"]
    return swaps


def _messages(events: Sequence[Mapping[str, Any]], row: Mapping[str, int]) -> list[Part]:
    inside: tuple[list[int | None], list[float | None]] = ([], [])
    across: tuple[list[int | None], list[float | None]] = ([], [])
    for sent, received in messages_of(events):
        start = None if sent is None else row[events[sent]["process"]]
        end = None if received is None else row[events[received]["process"]]
        numbers, rows = inside if start is not None and end is not None else across
        first = len(events) if sent is None else sent
        numbers += [first, len(events) + 1 if received is None else received, None]
        known = start if start is not None else end or 0
        rows += [
            known - BESIDE if start is None else start,
            known + BESIDE if end is None else end,
            None,
        ]
    return [_line(inside, "solid"), _line(across, "dot")]


def _line(ends: tuple[list[int | None], list[float | None]], dash: str) -> Part:
    line = {"color": colour("message"), "width": 1.5, "dash": dash}
    shape = {"type": "scatter", "mode": "lines", "hoverinfo": "skip", "line": line}
    return {**shape, "meta": ends[0], "y": ends[1]}


def _dots(events: Sequence[Mapping[str, Any]], row: Mapping[str, int], *, pre: bool) -> Part:
    chosen = [n for n, event in enumerate(events) if bool(event["prerecording"]) is pre]
    mark = colour("cut" if pre else "message")
    word = "prerecording" if pre else "postrecording"
    return {
        "type": "scatter",
        "mode": "markers+text" if len(events) <= MOST_NAMED else "markers",
        "meta": chosen,
        "y": [row[events[number]["process"]] for number in chosen],
        "text": [f"e{number}" for number in chosen],
        "textposition": "top center",
        "textfont": {"color": colour("text" if pre else "text-soft"), "size": 12},
        "hovertext": [f"{_name(number, events[number])}<br>{word}" for number in chosen],
        "hoverinfo": "text",
        "marker": {
            "size": 5 if len(events) > MANY else 10,
            "symbol": "circle" if pre else "circle-open",
            "color": mark,
            "line": {"width": 2, "color": mark},
        },
    }


def _name(number: int, event: Mapping[str, Any]) -> str:
    said = event.get("message") or event.get("label") or ""
    return f"e{number}: {event['kind']} {look.escaped(said)}"


def _layout(lanes: Sequence[str], count: int, state: int | None) -> Part:
    names = [look.shortened(name, LONGEST_NAME) for name in lanes]
    left = 16 + LETTER * max(map(len, names), default=0)
    title = {"text": "events, in this order", "standoff": 4, "font": {"size": 12}}
    lines, labels = [], []
    if state is not None:
        lines = [look.vertical_line(state + 0.5, color=colour("recorded"), width=2)]
        labels = [
            {
                "x": state + 0.5,
                "y": 1,
                "yref": "paper",
                "yanchor": "bottom",
                "xanchor": "left" if state < count / 2 else "right",
                "text": "recorded state",
                "showarrow": False,
                "font": {"color": colour("recorded"), "weight": "bold"},
            }
        ]
    return look.layout(
        margin={"l": left, "r": 16, "t": 28, "b": 44},
        showlegend=False,
        xaxis=look.lined_axis(
            fixedrange=True,
            range=[0.3, count + 0.7],
            showgrid=False,
            title=title,
            **({"tick0": 1, "dtick": 1} if count <= MOST_TICKS else {"nticks": MOST_TICKS}),
            tickformat=",d",
        )
        | {"automargin": False},
        yaxis=look.quiet_axis(
            fixedrange=True,
            range=[len(lanes) - 0.4, -0.7],
            tickvals=list(range(len(lanes))),
            ticktext=list(map(look.escaped, names)),
        )
        | {
            "gridcolor": colour("lane"),
            "tickfont": {"color": colour("text-soft"), "weight": "bold"},
            "automargin": False,
        },
        shapes=lines,
        annotations=labels,
    )
