"""Hold what was read from Redis at one moment, or why nothing was."""

from dataclasses import dataclass, field, replace
from typing import Any

from redis import RedisError

from webapp.operating import history, presence, rates
from webapp.operating.history import Sample, Series
from webapp.operating.presence import Web, Worker
from webapp.operating.rates import Outlook
from webapp.operating.redis_reading import client

NO_REDIS = "Redis does not answer, and what was measured is kept there"


@dataclass(frozen=True, slots=True)
class Noted:
    """The samples, the living processes, and Redis' own memory.

    Args:
        machines: samples by host name, and those of what all share: the oldest first.
        missing: why nothing could be read; empty if it could.
    """

    machines: dict[str, list[Sample]] = field(default_factory=dict)
    shared: list[Sample] = field(default_factory=list)
    webs: list[Web] = field(default_factory=list)
    workers: list[Worker] = field(default_factory=list)
    memory: dict[str, Any] = field(default_factory=dict)
    missing: str = ""

    @classmethod
    def read(cls) -> "Noted":
        """Read all of it from Redis; what is missing is said, not raised."""
        try:
            with client() as redis:
                return cls(
                    machines=history.machines(redis),
                    shared=history.shared(redis),
                    webs=presence.webs(redis),
                    workers=presence.workers(redis),
                    memory=redis.info("memory"),
                )
        except (RedisError, ValueError):
            return cls(missing=NO_REDIS)

    def outlook(self, series: Series, now: float, used: float, left: float) -> Outlook:
        """Return what a series says, or why there is none."""
        found = rates.outlook(series, now, used, left)
        return replace(found, unknown=self.missing) if self.missing else found
