"""The curves of a soak as a picture, and as rows of a table."""

from collections.abc import Callable, Sequence

from bench.performance_plot import STYLE
from tests.soak.judging import KIB, MIB, Line, lines
from tests.soak.sampling import (
    BLOCKS,
    DISK,
    FILES,
    MEMORY,
    REDIS,
    ROWS,
    STORED,
    TEMPORARY,
    THREADS,
    WHOLE,
    Sample,
)

PANEL, HEIGHT, TOP, BOTTOM, LEFT, RIGHT = 300, 170, 34, 26, 84, 20
COLUMNS = 3
COLOUR = "#1f77b4"

Chosen = Callable[[Line], bool]


def _of(kind: str, *names: str) -> Chosen:
    return lambda line: line.kind == kind and line.name.partition("/")[2] in names


def _all_of(*kinds: str) -> Chosen:
    return lambda line: line.kind in kinds and not line.is_kept


def _swept(line: Line) -> bool:
    return line.kind in (TEMPORARY, BLOCKS) and line.name.endswith(("/tmp", "/TMPDIR"))


SHOWN: dict[str, Chosen] = {
    "memory of all, shared parts once": _of(MEMORY, WHOLE),
    "web process": _of(MEMORY, "web1"),
    "worker: process of jobs": _of(MEMORY, "worker1 jobs"),
    "worker: periodic work": _of(MEMORY, "worker1 periodic"),
    "worker: JVM": _of(MEMORY, "worker1 JVM"),
    "JVM: heap after a collection": _of(MEMORY, "worker1 JVM heap"),
    "Redis: data": _of(MEMORY, "redis data"),
    "Redis: keys": _of(REDIS, "keys"),
    "open files of all": _all_of(FILES, STORED),
    "threads of all": _all_of(THREADS),
    "temporary files and folders": _swept,
    "rows without the audit log": _all_of(ROWS),
    "disk: uploads and store": _of(DISK, "uploads", "store"),
    "disk: database": _of(DISK, "cutline"),
    "disk: temporary folders": _of(DISK, "tmp", "TMPDIR"),
    "disk: removed, but open": _of(DISK, "removed and open"),
}
"""The curves, each the sum of its quantities. Memory is what no file backs."""


def curves(samples: Sequence[Sample]) -> dict[str, Line]:
    """The curves that are shown, by their names; without those of which nothing was measured."""
    every = lines(samples)
    shown = {title: list(filter(chosen, every)) for title, chosen in SHOWN.items()}
    return {title: _sum(summed) for title, summed in shown.items() if summed}


def _sum(summed: Sequence[Line]) -> Line:
    values = tuple(map(sum, zip(*(line.values for line in summed), strict=True)))
    return Line(summed[0].name, values)


def table(samples: Sequence[Sample]) -> str:
    """The curves as a table in Markdown."""
    places = thirds(len(samples) - 1)
    head = ["", "at start", *(f"after {place} h" for place in places[1:]), "slope, an hour"]
    rows = [head, ["---", *["---:"] * (len(head) - 1)]]
    for title, line in curves(samples).items():
        unit, name = unit_of(line)
        shown = [f"{line.values[place] / unit:,.{digits(unit)}f}{name}" for place in places]
        rows.append([title, *shown, f"{line.slope / unit:+,.{digits(unit) or 1}f}{name}"])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def thirds(last: int) -> list[int]:
    """The hours of which there are figures: the first, the last and two between."""
    return sorted({0, last // 3, 2 * last // 3, last})


def unit_of(line: Line) -> tuple[int, str]:
    """The number by which values are divided, and the name of the unit with a space before it."""
    if line.kind not in (MEMORY, DISK):
        return 1, ""
    return (MIB, " MiB") if max(line.values) >= MIB else (KIB, " KiB")


def digits(unit: int) -> int:
    return 1 if unit > 1 else 0


def picture(samples: Sequence[Sample]) -> str:
    """All curves as one SVG, a panel for each."""
    shown = curves(samples)
    rows = -(-len(shown) // COLUMNS)
    panels = [
        _panel(title, line, PANEL * (number % COLUMNS), HEIGHT * (number // COLUMNS))
        for number, (title, line) in enumerate(shown.items())
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {PANEL * COLUMNS} {HEIGHT * rows}">'
        f"\n<style>{STYLE}</style>\n" + "\n".join(panels) + "\n</svg>\n"
    )


def _panel(title: str, line: Line, left: int, top: int) -> str:
    """One curve from 0 to a little above its largest value, with the hours below."""
    unit, name = unit_of(line)
    most = max(*line.values, 1) * 1.1
    width, height = PANEL - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    last = max(len(line.values) - 1, 1)

    def x(hour: float) -> float:
        return left + LEFT + width * hour / last

    def y(value: float) -> float:
        return top + TOP + height * (1 - value / most)

    path = "L".join(f"{x(hour):.1f} {y(value):.1f}" for hour, value in enumerate(line.values))
    largest = max(line.values)
    label = f"{largest / unit:,.{digits(unit)}f}{name}"
    ends = [
        f'<text x="{left + LEFT - 6}" y="{y(value) + 4:.0f}" text-anchor="end">{text}</text>'
        for value, text in ((0, "0"), (largest, label))
    ]
    hours = [
        f'<text x="{x(hour):.0f}" y="{top + HEIGHT - 8}" text-anchor="middle">{hour} h</text>'
        for hour in thirds(last)
    ]
    return "\n".join(
        [
            f'<text x="{left + LEFT}" y="{top + 18}" style="font-weight:bold">{title}</text>',
            f'<path class="axis" d="M{x(0):.0f} {y(0):.0f}H{x(last):.0f}"/>',
            *ends,
            *hours,
            f'<path d="M{path}" fill="none" stroke="{COLOUR}" stroke-width="2"/>',
        ]
    )
