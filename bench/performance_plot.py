"""Draw docs/images/performance.svg from a table of docs/performance.md.

    python -m bench.performance_plot

The table under the heading "The ingest and the snapshots beside DuckDB" has a row for each job and
size, with the processor time of both. The picture has a panel for each job, so that the page and
its picture cannot say different things.
"""

import re
from math import log10
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "performance.md"
PICTURE = ROOT / "docs" / "images" / "performance.svg"
HEADING = "## The ingest and the snapshots beside DuckDB"

PANEL, HEIGHT, TOP, BOTTOM, LEFT = 300, 250, 50, 40, 60
COLOURS = {"Cutline": "#1f77b4", "DuckDB": "#d95f02"}
STYLE = (
    "text{font:13px sans-serif;fill:#222}.axis{stroke:#999}"
    "@media (prefers-color-scheme: dark){text{fill:#ddd}}"
)

Points = dict[str, list[tuple[int, float]]]
"""The measured points of each system in ``COLOURS``: numbers of events, with the seconds taken."""


def jobs(page: str) -> dict[str, Points]:
    """Return the figures of each job that the table of the page has. Raises: ValueError."""
    table = page[page.index(HEADING) :].split("\n\n")[2]
    found: dict[str, Points] = {}
    for row in table.splitlines()[2:]:
        job, events, ours, theirs = (cell.strip() for cell in row.strip("| ").split("|")[:4])
        points = found.setdefault(job, {name: [] for name in COLOURS})
        for name, cell in zip(COLOURS, (ours, theirs), strict=True):
            points[name].append((round(10 ** float(events[3:])), _seconds(cell)))
    return found


def _seconds(cell: str) -> float:
    return float(re.sub(r"[^0-9.]", "", cell))


def picture(found: dict[str, Points]) -> str:
    """Return all panels as one SVG."""
    width = PANEL * len(found)
    panels = [_panel(job, points, PANEL * n) for n, (job, points) in enumerate(found.items())]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}">\n'
        f"<style>{STYLE}</style>\n" + "\n".join(panels) + "\n</svg>\n"
    )


def _panel(job: str, points: Points, left: int) -> str:
    """Return the lines of one job; both axes are logarithmic."""
    events = [x for line in points.values() for x, _ in line]
    seconds = [y for line in points.values() for _, y in line]
    powers = range(int(log10(min(seconds)) // 1), int(-(-log10(max(seconds)) // 1)) + 1)
    first, last = log10(min(events)), log10(max(events))

    def x(count: float) -> float:
        share = (log10(count) - first) / (last - first)
        return left + LEFT + share * (PANEL - LEFT - 30)

    def y(taken: float) -> float:
        share = (log10(taken) - powers[0]) / (powers[-1] - powers[0])
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    drawn = [f'<text x="{left + LEFT}" y="18" style="font-weight:bold">{job}</text>']
    for power in powers:
        at = y(10**power)
        drawn.append(f'<path class="axis" d="M{left + LEFT} {at:.0f}H{left + PANEL - 20}"/>')
        label = f"{10**power:g} s"
        drawn.append(
            f'<text x="{left + LEFT - 6}" y="{at + 4:.0f}" text-anchor="end">{label}</text>'
        )
    for count in sorted(set(events)):
        place = f'x="{x(count):.0f}" y="{HEIGHT - 20}" text-anchor="middle"'
        drawn.append(f"<text {place}>10{_raised(round(log10(count)))}</text>")
    for number, (name, line) in enumerate(points.items()):
        path = "L".join(f"{x(count):.1f} {y(taken):.1f}" for count, taken in line)
        colour = COLOURS[name]
        drawn.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        place = f'x="{left + LEFT + 80 * number}" y="38" style="fill:{colour}"'
        drawn.append(f"<text {place}>{name}</text>")
    return "\n".join(drawn)


def _raised(power: int) -> str:
    return str(power).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def main() -> None:
    PICTURE.write_text(picture(jobs(PAGE.read_text())))


if __name__ == "__main__":
    main()
