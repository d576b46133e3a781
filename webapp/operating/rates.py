"""Say from what was measured how fast something grows, and when it reaches its end.

The rate over a window is the difference between now and the last sample that is at least as old as
the window, divided by the time between. What was freed meanwhile counts against what came, so a
rate can be negative. Nothing is said from less than LEAST_SECONDS.
"""

from dataclasses import dataclass

from snapshots.quantities import age
from webapp.operating.history import SECONDS_BETWEEN, Series

LEAST_SECONDS = 6 * 3600
WINDOWS = (LEAST_SECONDS, 86_400, 7 * 86_400)
LONGEST = 10 * 365 * 86_400  # what lies further away is not said to end


@dataclass(frozen=True, slots=True)
class Rate:
    """How much something grew in a second, over the last ``seconds``.

    Attributes:
        ends_in: seconds until nothing is left at this rate; None if that is never, or later than
            in ten years.
    """

    seconds: float
    per_second: float
    ends_in: float | None


@dataclass(frozen=True, slots=True)
class Outlook:
    """The rates over several windows, shortest first; without any, the reason."""

    rates: list[Rate]
    unknown: str = ""

    @property
    def first(self) -> Rate | None:
        """The rate at which the end comes first; None if it does not come."""
        ending = [rate for rate in self.rates if rate.ends_in is not None]
        return min(ending, key=lambda rate: rate.ends_in or 0, default=None)


def outlook(series: Series, now: float, used: float, left: float) -> Outlook:
    """Return what the samples say.

    Args:
        series: (time in epoch seconds, what was used), the oldest first.
        now: the epoch seconds at which ``used`` is used and ``left`` is left.
    """
    if not series:
        return Outlook(
            [], f"nothing was measured yet; workers and web processes do so every {_EVERY}"
        )
    measured = now - series[0][0]
    if measured < LEAST_SECONDS:
        short = f"measured for {words(measured)}; a forecast needs {words(LEAST_SECONDS)}"
        return Outlook([], short)
    starts = {_start(series, now - window) for window in WINDOWS}
    return Outlook([_rate(start, now, used, left) for start in sorted(starts, reverse=True)])


def _start(series: Series, moment: float) -> tuple[float, float]:
    """Return the last sample that is not after a moment, or else the first one."""
    return [point for point in series if point[0] <= moment or point is series[0]][-1]


def _rate(start: tuple[float, float], now: float, used: float, left: float) -> Rate:
    seconds = now - start[0]
    per_second = (used - start[1]) / seconds
    ends_in = left / per_second if per_second > 0 and left < per_second * LONGEST else None
    return Rate(seconds, per_second, ends_in)


def words(seconds: float) -> str:
    """Write a time in its two largest units, as in "20 min" or "2 d 4 h"."""
    return age(round(max(seconds, 0) / 60) * 60_000)


_EVERY = words(SECONDS_BETWEEN)
