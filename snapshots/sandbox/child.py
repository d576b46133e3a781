"""The child process of ``evaluation``: it reads expressions and states, writes what they come to.

Standard input, a JSON object a line: the limits, then ``{"expression", "names", "explain"}`` and
the ``{"state"}``s it is asked over, and so on. Standard output, a line for each state: ``{"value",
"error", "offset", "compared", "came_to"}``, where ``compared`` has left, sign and right of each.
"""

import math
import resource
import sys
import time

import orjson

from snapshots.domain.conditions.expressions import Expression

_BETWEEN_FLUSHES = 0.05  # seconds: so that the parent knows how far it came, at little cost


def main() -> None:
    lines = map(orjson.loads, sys.stdin.buffer)
    _limit(**next(lines))
    written, flushed = sys.stdout.buffer, time.monotonic()
    expression, explain = None, False
    for line in lines:
        if "expression" in line:
            names, explain = frozenset(line["names"]), line["explain"]
            expression = Expression(line["expression"], names, must_decide=False)
            continue
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
        "compared": [(one.left, one.sign, one.right) for one in outcome.compared],
        "came_to": outcome.came_to,
    }


def _limit(memory: int, seconds: float) -> None:
    """The parent kills it in time; these hold should the parent be gone."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    processor = math.ceil(seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (processor, processor))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main()
