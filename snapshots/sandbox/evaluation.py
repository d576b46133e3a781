"""Evaluate expressions that people write, where they can do no harm.

One child process evaluates all expressions of a call. It is killed when its time is up, has limited
memory and an empty environment. Starting it takes about 0.2 s. A few children run at once; further
ones wait for their turn.
"""

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any

import orjson

from snapshots.domain.conditions.expressions import (
    Compared,
    Expression,
    ExpressionError,
    Outcome,
    Question,
)
from snapshots.domain.properties import own
from snapshots.domain.properties.answers import Answer
from snapshots.domain.properties.global_state import GlobalState

SECONDS = 5.0
MEMORY = 512 * 1024 * 1024  # bytes of address space
LARGEST_INPUT = 64 * 1024 * 1024  # bytes of JSON
MOST_AT_ONCE = 4  # children of one process
_turns = BoundedSemaphore(MOST_AT_ONCE)
_ROOT = Path(__file__).resolve().parents[2]  # a zip file on the workers of a cluster
_MAIN = f"import sys; sys.path.insert(0, {str(_ROOT)!r}); from snapshots.sandbox import child"
_CHILD = (sys.executable, "-I", "-c", f"{_MAIN}; child.main()")


class TooMuch(ExpressionError):
    """The evaluation needed too much time or memory, or the states are too large."""


def strip(
    text: str,
    states: Sequence[GlobalState],
    *,
    must_decide: bool = True,
    seconds: float = SECONDS,
    memory: int = MEMORY,
) -> tuple[Answer, ...]:
    """Evaluate an expression over several snapshots, with explanations.

    ``must_decide``: see Expression. Raises: ExpressionError, TooMuch among them.
    """
    names = frozenset(process for state in states for process in state.processes)
    expression = Expression(text, names, must_decide=must_decide)
    question = Question(expression, map(own.variables, states), explain=True)
    (outcomes,) = evaluate([question], seconds=seconds, memory=memory)
    return tuple(
        own.answer(expression, state, outcome)
        for state, outcome in zip(states, outcomes, strict=True)
    )


def evaluate(
    questions: Sequence[Question], *, seconds: float = SECONDS, memory: int = MEMORY
) -> list[list[Outcome]]:
    """Evaluate all questions in one child and return their outcomes. Raises: TooMuch."""
    request, counts = _request(questions, memory, seconds)
    if not sum(counts):
        return [[] for _ in counts]
    answered, reason = _run(request, seconds)
    lines = answered.splitlines()
    done, wanted = len(lines), sum(counts)
    if done < wanted:
        at_fault = _expression_at(questions, counts, done)
        raise TooMuch(
            f"{reason} after {done:,} of {wanted:,} states. Does a loop in it run over a loop?",
            at_fault.text,
        )
    outcomes = map(_outcome, map(orjson.loads, lines), _owners(questions, counts))
    return [[next(outcomes) for _ in range(count)] for count in counts]


def _request(questions: Sequence[Question], memory: int, seconds: float) -> tuple[bytes, list[int]]:
    """Return the child's input, and the number of states of each question.

    The input is the limits, then each expression and its states, one a line. Raises: TooMuch.
    """
    lines = [orjson.dumps({"memory": memory, "seconds": seconds})]
    size, counts = 0, []
    for question in questions:
        expression = question.expression
        head = {
            "expression": expression.text,
            "names": sorted(expression.names),
            "explain": question.explain,
        }
        lines.append(orjson.dumps(head))
        first_state = len(lines)
        for variables in question.variables:
            lines.append(_state(variables, expression))
            size += len(lines[-1])
            if size > LARGEST_INPUT:
                raise TooMuch(
                    f"The states are larger than {LARGEST_INPUT >> 20} MiB together. Choose fewer "
                    "snapshots at once, or for processes with fewer states.",
                    expression.text,
                )
        counts.append(len(lines) - first_state)
    return b"\n".join(lines) + b"\n", counts


def _state(variables: Mapping[str, object], expression: Expression) -> bytes:
    try:
        return orjson.dumps({"state": variables})
    except orjson.JSONEncodeError as error:
        raise TooMuch(
            f"A state cannot be passed on: {error}. Is it nested very deeply?", expression.text
        ) from None


def _run(request: bytes, seconds: float) -> tuple[bytes, str]:
    """Run the child; return its complete lines of output, and why there are no more."""
    if not _turns.acquire(timeout=seconds):
        return b"", "Other people's expressions took all the time"
    began = time.monotonic()
    try:
        done = subprocess.run(
            _CHILD,
            input=request,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as expired:
        return _whole(expired.output), f"The expression took longer than {seconds:g} seconds"
    finally:
        _turns.release()
    if time.monotonic() - began >= seconds:  # the child's own limit was noticed first
        return _whole(done.stdout), f"The expression took longer than {seconds:g} seconds"
    return _whole(done.stdout), "The expression took more memory or time than it may"


def _whole(output: bytes | None) -> bytes:
    output = output or b""
    return output[: output.rfind(b"\n") + 1]


def _owners(questions: Sequence[Question], counts: Sequence[int]) -> Iterator[Expression]:
    for question, count in zip(questions, counts, strict=True):
        for _ in range(count):
            yield question.expression


def _expression_at(questions: Sequence[Question], counts: Sequence[int], number: int) -> Expression:
    """Return the expression of the state with this number."""
    return next(
        expression for index, expression in enumerate(_owners(questions, counts)) if index == number
    )


def _outcome(answer: Mapping[str, Any], expression: Expression) -> Outcome:
    if answer["error"] is None:
        return Outcome(
            answer["value"], compared=tuple(Compared(*parts) for parts in answer["compared"])
        )
    error = ExpressionError(answer["error"], expression.text, answer["offset"])
    return Outcome(None, error, came_to=answer["came_to"])
