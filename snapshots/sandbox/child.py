"""Run as the child process of ``evaluation``: read expressions and states, write their values.

Standard input has one JSON object a line: the limits, then ``{"expression", "names", "explain"}``
followed by its ``{"state"}``s, and so on. Standard output has one line for each state: ``{"value",
"error", "offset", "compared", "came_to"}``, where ``compared`` lists (left, sign, right).
"""

import math
import resource
import sys
import time

import orjson

from snapshots.domain.conditions.expressions import Expression

_BETWEEN_FLUSHES = 0.05  # seconds; so the parent knows how far the child came, at little cost


def main() -> None:
    lines = map(orjson.loads, sys.stdin.buffer)
    _limit(**next(lines))
    written, flushed = sys.stdout.buffer, time.monotonic()
    expression: Expression | None = None
    explain = False
    for line in lines:
        if "expression" in line:
            names, explain = frozenset(line["names"]), line["explain"]
            expression = Expression(line["expression"], names, must_decide=False)
            continue
        assert expression is not None  # the parent sends it before its states
        written.write(orjson.dumps(_answered(expression, line["state"], explain)) + b"\n")
        if time.monotonic() - flushed > _BETWEEN_FLUSHES:
            written.flush()
            flushed = time.monotonic()


def _answered(expression: Expression, state: dict, explain: bool) -> dict[str, object]:
    outcome = expression.outcome(state, explain=explain)
    error = outcome.error
    return {
        "value": outcome.value,
        "error": error and error.sentence,
        "offset": error and error.offset,
        "compared": [(item.left, item.sign, item.right) for item in outcome.compared],
        "came_to": outcome.came_to,
    }


def _limit(memory: int, seconds: float) -> None:
    """Limit memory and processor time, in case the parent is gone and cannot kill this process."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    processor = math.ceil(seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (processor, processor))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main()
