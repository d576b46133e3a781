"""Reports what a long phase of a job is at: which file, which state."""

import time
from collections.abc import Callable

SECONDS_BETWEEN = 1.0
LONGEST = 60  # characters of a phase with its words


class AtWork:
    """Adds words to a phase about once a second, because each change writes the job's row.

    Args:
        report: takes the phase with the words, and two numbers as ``steps.Progress``.
        phase: the phase without words.
    """

    def __init__(self, report: Callable[[str, int, int], None], phase: str) -> None:
        self._report, self._phase = report, phase
        self._count, self._reported = 0, time.monotonic()

    def __call__(self, kind: str, name: str) -> None:
        """Count a thing of a kind, as ``file``, and report its number and name if it is time.

        Raises: what ``report`` raises.
        """
        self._count += 1
        if time.monotonic() - self._reported > SECONDS_BETWEEN:
            self._reported = time.monotonic()
            words = f"{self._phase}: {kind} {self._count:,}, {name}"
            self._report(_shortened(words), 0, 0)


def _shortened(words: str) -> str:
    return words if len(words) <= LONGEST else words[: LONGEST - 1] + "…"
