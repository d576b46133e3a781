"""Draw a restored run beside the original: two space-time diagrams for Plotly, as plain JSON.

What stands still is drawn once for each page of PAGE places. What moves are the last traces of a
figure: the messages in the channels, the processes with their states, and the cursor. Colours are
the custom properties of the style sheet, which the page puts in. Texts of logs are escaped, because
Plotly reads some HTML in them.
"""

from collections.abc import Iterable, Iterator
from html import escape
from itertools import islice
from typing import Any

from snapshots.domain.model.recording import RECEIVE, SEND
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.replaying.restored_run import Flight, RestoredRun, Side
from snapshots.domain.replaying.restored_sentences import amount

PAGE = 60  # places
MOST_LANES = 16
MOST_MOVING = 150  # messages on their way that are drawn
MOST_FAULTS = 20  # that a frame lists
LONGEST = 14  # characters of a state or value in the picture
TOP, BOTTOM = 34, 26  # pixels
PITCHES = ((3, 76), (8, 54), (MOST_LANES, 32))  # pixels between lanes, for so many of them
_SYMBOLS = {SEND: "triangle-up", RECEIVE: "triangle-down"}
_STANDS_STILL = 5  # traces before those that move

Trace = dict[str, Any]


def page_of(run: RestoredRun, place: int) -> int:
    """Return which page of the picture shows a place."""
    return max(place - 1, 0) // PAGE


def lanes_of(run: RestoredRun) -> dict[ProcessId, int]:
    """Return the lanes that are drawn: all, or those where something goes wrong and the first."""
    names = [process.id for process in run.course.topology.processes]
    if len(names) <= MOST_LANES:
        return {name: lane for lane, name in enumerate(names)}
    channels = run.course.topology.channel_by_id
    wanted = [
        name
        for fault in run.faults
        for name in (
            fault.process,
            channels[fault.channel].source if fault.channel is not None else None,
        )
        if name is not None
    ]
    chosen = set(islice(dict.fromkeys([*wanted, *names]), MOST_LANES))
    return {name: lane for lane, name in enumerate(name for name in names if name in chosen)}


def still(run: RestoredRun, page: int) -> list[dict[str, Any]]:
    """Return the figures of the original and of the restored run, without what moves."""
    return [
        {"data": list(_traces(run, side, page)), "layout": _layout(run, side, page)}
        for side in (run.original, run.restored)
    ]


def moving(run: RestoredRun, page: int, place: float) -> list[list[Trace]]:
    """Return the traces of each figure that move, at a place."""
    return [
        [_messages(run, side, place), _processes(run, side, place), _cursor(run, place)]
        for side in (run.original, run.restored)
    ]


# --- what stands still ---------------------------------------------------------------------------


def _traces(run: RestoredRun, side: Side, page: int) -> Iterator[Trace]:
    lanes, low, high = lanes_of(run), *_span(run, page)
    wrong = {(fault.channel, fault.message) for fault in run.faults if fault.message is not None}
    right_flights: list[Flight] = []
    wrong_flights: list[Flight] = []
    for flight in side.flights:
        if flight.put <= high and (flight.taken is None or flight.taken >= low):
            is_wrong = (flight.channel, flight.message.id) in wrong
            (wrong_flights if is_wrong else right_flights).append(flight)
    yield _lanes(run, side, lanes, low, high)
    yield _lines(run, lanes, right_flights, "messages", "var(--color-message)", 1.5)
    yield _lines(run, lanes, wrong_flights, "gone wrong", "var(--color-orphan)", 2.5)
    yield _events(run, side, lanes, low, high)
    yield _faults(run, side, lanes, low, high)


def _span(run: RestoredRun, page: int) -> tuple[int, int]:
    return page * PAGE, min((page + 1) * PAGE, run.end)


def _lanes(run: RestoredRun, side: Side, lanes: dict[ProcessId, int], low: int, high: int) -> Trace:
    """Return the line of each process, which begins when it has a state."""
    x: list[float | None] = []
    y: list[float | None] = []
    for name, lane in lanes.items():
        begin = max(side.states[name][0][0], low)
        x += [begin, high, None]
        y += [lane, lane, None]
    return _line("processes", x, y, "var(--color-lane)", 2)


def _line(name: str, x: list[Any], y: list[Any], colour: str, width: float) -> Trace:
    return {
        "type": "scatter", "mode": "lines", "name": name, "x": x, "y": y, "hoverinfo": "skip",
        "line": {"color": colour, "width": width},
    }  # fmt: skip


def _lines(
    run: RestoredRun,
    lanes: dict[ProcessId, int],
    flights: Iterable[Flight],
    name: str,
    colour: str,
    width: float,
) -> Trace:
    x: list[float | None] = []
    y: list[float | None] = []
    for flight in flights:
        ends = _ends(run, lanes, flight)
        if ends is not None:
            until = run.end if flight.taken is None else flight.taken
            x += [_begin(run, flight), until, None]
            y += [*_reach(flight, ends), None]
    return _line(name, x, y, colour, width)


def _ends(run: RestoredRun, lanes: dict[ProcessId, int], flight: Flight) -> tuple[int, int] | None:
    channel = run.course.topology.channel_by_id[flight.channel]
    source, target = lanes.get(channel.source), lanes.get(channel.target)
    return None if source is None or target is None else (source, target)


def _begin(run: RestoredRun, flight: Flight) -> int:
    """Return where a message sets out; those of the original stand as it stands at the cut."""
    return flight.put or run.cut


def _reach(flight: Flight, ends: tuple[int, int]) -> tuple[float, float]:
    """Return where the line of a message begins and ends.

    One that was in the channel already begins beside its source, one that stays ends beside its
    target.
    """
    source, target = ends
    beside = 0.25 * _sign(target - source)
    return (
        source if flight.sent else source + beside,
        target if flight.taken is not None else target - beside,
    )


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)


def _events(
    run: RestoredRun, side: Side, lanes: dict[ProcessId, int], low: int, high: int
) -> Trace:
    """Return the events of a page; a receive that does not happen is a cross."""
    rows = []
    for place in range(max(low, run.cut + 1), high + 1):
        step = run.step(place)
        if step.event is None or step.event.process not in lanes:
            continue
        is_missing = side is run.restored and not step.happens
        symbol = "x" if is_missing else _SYMBOLS.get(step.event.kind, "circle")
        colour = "var(--color-orphan)" if is_missing else "var(--color-text-soft)"
        rows.append((place, lanes[step.event.process], symbol, colour, escape(step.sentence)))
    x, y, symbols, colours, texts = zip(*rows, strict=True) if rows else ((),) * 5
    return {
        "type": "scatter", "mode": "markers", "name": "events", "x": x, "y": y,
        "hovertext": texts, "hoverinfo": "text",
        "marker": {"symbol": symbols, "color": colours, "size": 8},
    }  # fmt: skip


def _faults(
    run: RestoredRun, side: Side, lanes: dict[ProcessId, int], low: int, high: int
) -> Trace:
    """Return a ring with a word where something goes wrong on the restored side."""
    rows = [
        (fault.place, lanes[fault.process], fault.kind, escape(fault.sentence))
        for fault in run.faults
        if side is run.restored and fault.process in lanes and low <= fault.place <= high
    ]
    x, y, words, texts = zip(*rows, strict=True) if rows else ((),) * 4
    return {
        "type": "scatter", "mode": "markers+text", "name": "faults", "x": x, "y": y,
        "text": words, "textposition": "bottom center", "hovertext": texts, "hoverinfo": "text",
        "textfont": {"color": "var(--color-inconsistent)", "size": 12},
        "marker": {
            "symbol": "circle-open", "size": 20, "color": "var(--color-orphan)",
            "line": {"width": 3},
        },
    }  # fmt: skip


def _layout(run: RestoredRun, side: Side, page: int) -> dict[str, Any]:
    lanes, (low, high) = lanes_of(run), _span(run, page)
    return {
        "height": _pitch(len(lanes)) * len(lanes) + TOP + BOTTOM + 20,
        "margin": {"l": 8, "r": 12, "t": TOP, "b": BOTTOM},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "showlegend": False,
        "dragmode": False,
        "hovermode": "closest",
        "font": {"family": "system-ui, sans-serif", "size": 12, "color": "var(--color-text)"},
        "xaxis": {
            "range": [low - 1, max(high, low + 8) + 1.5], "fixedrange": True, "zeroline": False,
            "showgrid": False, "nticks": 8, "tickcolor": "var(--color-line)", "tickformat": "d",
            "tickfont": {"color": "var(--color-text-soft)"},
        },
        "yaxis": {
            "range": [len(lanes) - 0.3, -0.9], "fixedrange": True, "zeroline": False,
            "showgrid": False, "automargin": True, "tickmode": "array",
            "tickvals": list(lanes.values()),
            "ticktext": [escape(_clipped(name)) for name in lanes],
        },
        "shapes": [_bound(at) for at in (run.beats[1], run.cut) if low <= at <= high],
        "annotations": list(_captions(run, side, low, high)),
    }  # fmt: skip


def _pitch(lanes: int) -> int:
    return next(pitch for most, pitch in PITCHES if lanes <= most)


def _bound(at: int) -> dict[str, Any]:
    return {
        "type": "line", "x0": at, "x1": at, "yref": "paper", "y0": 0, "y1": 1, "layer": "below",
        "line": {"color": "var(--color-cut)", "width": 1, "dash": "dot"},
    }  # fmt: skip


def _captions(run: RestoredRun, side: Side, low: int, high: int) -> Iterator[dict[str, Any]]:
    """Yield the words above the beats; the original stands at the cut until the last."""
    if side is run.restored:
        rows = [(0, "2 states"), (run.beats[1], "3 channels"), (run.cut, "4 on it goes")]
    else:
        rows = [(0, "at the cut"), (run.cut, "after the cut")]
    for at, text in rows:
        if low <= at <= high:
            yield {
                "x": at, "y": 1, "yref": "paper", "yanchor": "bottom", "xanchor": "left",
                "text": text, "showarrow": False,
                "font": {"color": "var(--color-text-soft)", "size": 11},
            }  # fmt: skip


def _clipped(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


# --- what moves ----------------------------------------------------------------------------------


def _messages(run: RestoredRun, side: Side, place: float) -> Trace:
    """Return the messages in the channels, each on its way from its put to its receive."""
    lanes, rows = lanes_of(run), []
    here = [
        (number, flight)
        for number, flight in enumerate(side.flights)
        if flight.put <= place and (flight.taken is None or flight.taken > place)
    ]
    for number, flight in here[-MOST_MOVING:]:
        ends = _ends(run, lanes, flight)
        if ends is None:
            continue
        until = run.end + 1 if flight.taken is None else flight.taken
        begin = _begin(run, flight)
        part = (max(place, begin) - begin) / max(until - begin, 1)
        source, target = _reach(flight, ends)
        value = flight.message.value
        label = escape(_clipped(flight.message.id if value is None else amount(value)))
        rows.append((place, source + (target - source) * part, str(number), label))
    x, y, ids, texts = zip(*rows, strict=True) if rows else ((-9,), (0,), ("none",), ("",))
    return {
        "type": "scatter", "mode": "markers+text", "name": "in the channels",
        "x": x, "y": y, "ids": ids, "text": texts, "textposition": "middle right",
        "hoverinfo": "skip", "cliponaxis": False,
        "textfont": {"color": "var(--color-accent)", "size": 12},
        "marker": {"size": 11, "color": "var(--color-accent)",
                   "line": {"color": "var(--color-surface)", "width": 2}},
    }  # fmt: skip


def _processes(run: RestoredRun, side: Side, place: float) -> Trace:
    """Return the processes at the cursor with their states; an emptied one is hollow."""
    lanes, here = lanes_of(run), int(place)
    full = [side.has_state(name, here) for name in lanes]
    return {
        "type": "scatter", "mode": "markers+text", "name": "states",
        "x": [place] * len(lanes), "y": list(lanes.values()), "ids": list(map(str, lanes.values())),
        "text": [_state(side, name, here) for name in lanes],
        "textposition": "top left", "hoverinfo": "skip", "cliponaxis": False,
        "textfont": {"color": "var(--color-text)", "size": 12},
        "marker": {
            "size": 15,
            "color": ["var(--color-recorded)" if each else "var(--color-surface)" for each in full],
            "line": {"color": "var(--color-recorded)", "width": 2},
        },
    }  # fmt: skip


def _state(side: Side, process: ProcessId, place: int) -> str:
    state = side.state(process, place)
    if state is not None:
        return escape(_clipped(amount(state)))
    return "?" if side.has_state(process, place) else ""


def _cursor(run: RestoredRun, place: float) -> Trace:
    lanes = len(lanes_of(run))
    return _line("cursor", [place, place], [-0.75, lanes - 0.4], "var(--color-text)", 1.5) | {
        "ids": ["top", "bottom"]
    }
