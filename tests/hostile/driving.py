"""Runs the cases of a format in child processes that may die or hang, and sums up.

python -m tests.hostile.driving FORMAT... [--count N] [--first N] [--spark] [--out FILE]
"""

import argparse
import json
import os
import selectors
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.hostile.seeds import FORMATS

ROOT = Path(__file__).resolve().parents[2]
EACH_PROCESS = 1000  # cases; then a new one
OUTCOMES = ("done", "refused at once", "refused")
HANGS_AFTER = 180  # seconds without a word, the start included
STARTS_IN = 600


@dataclass
class Sum:
    """What came of the cases of one format. wrong: what must not have happened, by case."""

    format: str
    cases: int = 0
    outcomes: Counter = field(default_factory=Counter)
    kinds: Counter = field(default_factory=Counter)
    slowest_request: float = 0.0
    slowest_job: float = 0.0
    request_peak: int = 0
    job_peak: int = 0
    wrong: list[str] = field(default_factory=list)

    def take(self, told: dict) -> None:
        self.cases += 1
        self.kinds[told["kind"]] += 1
        self.outcomes[told["outcome"]] += 1
        self.slowest_request = max(self.slowest_request, told["request"])
        self.request_peak = max(self.request_peak, told["request_peak"])
        self.slowest_job = max(self.slowest_job, told.get("job", 0.0))
        self.job_peak = max(self.job_peak, told.get("job_peak", 0))
        self.wrong += [
            f"{self.format} {told['number']} ({told['kind']}): {w}" for w in told["wrong"]
        ]

    def row(self) -> str:
        """A row of a table in Markdown."""
        done, refused = self.outcomes["done"], self.outcomes["refused"]
        at_once = self.outcomes["refused at once"]
        return (
            f"| {self.format} | {self.cases:,} | {done:,} | {at_once:,} | {refused:,} | "
            f"{self.slowest_request:.1f} s | {self.slowest_job:.1f} s | "
            f"{self.request_peak >> 20} MiB | {self.job_peak >> 20} MiB | {len(self.wrong)} |"
        )


HEAD = (
    "| format | cases | done | refused at once | refused by the worker | slowest request | "
    "slowest job | most memory, request | most memory, job | wrong |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)


def run(format: str, count: int, *, first: int = 0, options: tuple[str, ...] = (), out=None) -> Sum:
    """The cases ``first`` to before ``first + count``."""
    total = Sum(format)
    number, end = first, first + count
    while number < end:
        size = min(EACH_PROCESS, end - number)
        for told in _lines(format, number, size, options):
            if "begins" in told:
                number = told["begins"]
                continue
            number = told["number"] + 1
            if "ended" in told:
                total.wrong.append(f"{format} {told['number']}: {told['ended']}")
            else:
                total.take(told)
            if out:
                print(json.dumps(told | {"of": format}), file=out, flush=True)
    return total


def _lines(format: str, first: int, count: int, options: tuple[str, ...]) -> Iterator[dict]:
    """What a child says; where it dies or hangs in a case, that too, as ``ended``."""
    command = [sys.executable, "-m", "tests.hostile.running", format, str(first), str(count)]
    command += options
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as child:
        current = None
        for line in _within(child):
            told = json.loads(line)
            current = told.get("begins")
            yield told
        code = child.poll()
        if code is None:
            child.kill()
        if current is not None:
            why = "it hung" if code is None else f"the process ended with {code}"
            yield {"number": current, "ended": why}
        elif code != 0:
            raise RuntimeError(f"The process for {format} ended with {code}.")


def _within(child: subprocess.Popen) -> Iterator[bytes]:
    """Yield the lines of a process until it ends or says nothing for too long."""
    descriptor = child.stdout.fileno()
    held, patience = b"", STARTS_IN
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while selector.select(patience):
            data = os.read(descriptor, 2**16)
            if not data:
                child.wait()
                return
            patience = HANGS_AFTER
            *lines, held = (held + data).split(b"\n")
            yield from lines


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("formats", nargs="*", default=FORMATS)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--whole", type=int, default=10)
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--out", type=argparse.FileType("a"))
    asked = parser.parse_args()
    options = ("--whole", str(asked.whole), *(["--spark"] if asked.spark else []))
    print(HEAD)
    for format in asked.formats:
        began = time.monotonic()
        total = run(format, asked.count, first=asked.first, options=options, out=asked.out)
        print(total.row(), flush=True)
        print(f"{time.monotonic() - began:.0f} s", *total.wrong[:50], sep="\n", file=sys.stderr)


if __name__ == "__main__":
    main()
