"""A soak by hand: ``python -m tests.soak --hours 24``.

Each hour of work takes some minutes or less. The samples go to a file after each hour. At the end,
a table of the curves is printed and docs/images/soak.svg is drawn, and what is not flat is named;
then the exit code is 1. ``--draw FILE`` only does the latter from samples of before.
"""

import argparse
import json
import signal
import sys
import tempfile
from pathlib import Path

from tests.soak.curves import picture, table
from tests.soak.judging import growing, lines
from tests.soak.running import Report, Soak
from tests.soak.sampling import Sample
from tests.stack import ROOT

PICTURE = ROOT / "docs" / "images" / "soak.svg"


def main() -> None:
    asked = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # stops everything that was started
    report = Report(samples=json.loads(asked.draw.read_text())) if asked.draw else soak(asked)
    PICTURE.write_text(picture(report.samples))
    tell_of_all(report.samples)
    print(table(report.samples), "", sep="\n")
    faults = report.faults + growing(report.samples)
    print(f"{report.seconds:.0f} s", *(f"WRONG: {fault}" for fault in faults), sep="\n")
    sys.exit(bool(faults))


def soak(asked: argparse.Namespace) -> Report:
    def keep(report: Report) -> None:
        asked.samples.parent.mkdir(exist_ok=True)
        asked.samples.write_text(json.dumps(report.samples))

    with tempfile.TemporaryDirectory(prefix="cutline-soak-") as folder:
        return Soak(
            Path(folder),
            hours=asked.hours,
            keep=keep,
            tell=lambda line: print(line, flush=True),
        ).run()


def tell_of_all(samples: list[Sample]) -> None:
    """Print each quantity that ever changed, with its first, middle and last value."""
    for line in lines(samples):
        if len(set(line.values)) > 1:
            some = line.values[:: max(1, len(samples) // 8)]
            shown = ", ".join(f"{value:,.0f}" for value in some)
            print(f"{line.name}: {shown}; slope {line.slope:+,.2f}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--hours", type=int, default=24)
    parser.add_argument("--samples", type=Path, default=ROOT / "artifacts" / "soak.json")
    parser.add_argument("--draw", type=Path, help="samples of an earlier soak")
    return parser.parse_args()


if __name__ == "__main__":
    main()
