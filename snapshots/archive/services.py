"""Carry out what requests change in the archive. Access is checked before.

Raises: problems.Problem for a wrong request.
"""

import re
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from snapshots import allowances
from snapshots.archive.addresses import Forbidden, NotAnAddress, checked, require_listed
from snapshots.archive.folders import checked_folder, require_below
from snapshots.domain.archive.columns import SORTABLE, Filter
from snapshots.domain.archive.model import STATUSES
from snapshots.fields import storable
from snapshots.models import Collector, EngineJob
from snapshots.problems import Conflict, Invalid
from webapp.accounts import audit

FLINK, SEATUNNEL, SPARK = "flink", "seatunnel", "spark"
ENGINES = {FLINK: "Flink", SEATUNNEL: "SeaTunnel", SPARK: "Spark"}
"""The engines that a collector can follow, with their titles."""
MOST_SECONDS = 3600
USUAL_SECONDS = 10
LONGEST_TEXT = 200
MOST_INT = 2**53


def add_collector(user, fields: Mapping[str, Any]) -> Collector:
    """Add a collector from ``engine``, ``url``, ``job_key`` and ``interval_seconds``.

    Raises: Invalid, Conflict, TooMany.
    """
    engine = str(fields.get("engine") or FLINK)
    if engine not in ENGINES:
        raise Invalid(f"The engine must be one of {', '.join(ENGINES)}.", field="engine")
    job_key = str(fields.get("job_key") or "").strip()
    try:
        url = checked_for(engine, str(fields.get("url") or ""))
    except (NotAnAddress, Forbidden) as refusal:
        raise Invalid(str(refusal), field="url") from None
    _require_key(engine, job_key)
    least = settings.MIN_COLLECT_SECONDS
    seconds = whole(fields, "interval_seconds", least=least, most=max(least, MOST_SECONDS))
    try:
        with transaction.atomic():
            allowances.require_collector(user)
            return Collector.objects.create(
                owner=user,
                engine=engine,
                url=url,
                job_key=job_key,
                interval_seconds=seconds or max(least, USUAL_SECONDS),
                next_poll_at=timezone.now(),
            )
    except IntegrityError:
        raise Conflict(f"A collector already follows {url}.") from None


def checked_for(engine: str, text: str) -> str:
    """Return the address of an engine that people may follow. Raises: NotAnAddress, Forbidden."""
    address = checked_folder(text) if engine == SPARK else checked(text)
    require_allowed(engine, address)
    return address


def require_allowed(engine: str, address: str) -> None:
    """Check that the settings let people follow a checked address. Raises: Forbidden."""
    if engine == SPARK:
        require_below(address)
    else:
        require_listed(address)


_KEYS = {
    FLINK: (re.compile(r"[0-9a-f]{32}"), "A job’s id has 32 digits, 0 to 9 and a to f."),
    SEATUNNEL: (re.compile(r"[0-9]{1,19}"), "A job’s id is a number of at most 19 digits."),
    SPARK: (re.compile(""), "A folder has one query: leave out the id."),
}
"""What the id of a job looks like, and the sentence for one that does not."""


def _require_key(engine: str, job_key: str) -> None:
    pattern, sentence = _KEYS[engine]
    if job_key and not pattern.fullmatch(job_key):
        raise Invalid(sentence, field="job_key")


def set_collecting(collector: Collector, is_collecting: bool) -> Collector:
    """Stop or continue a collector; one that continues polls at once."""
    collector.is_collecting = is_collecting
    collector.next_poll_at = timezone.now()
    collector.save(update_fields=["is_collecting", "next_poll_at"])
    return collector


def delete_collector(collector: Collector) -> None:
    """Delete a collector; what it has collected stays."""
    collector.delete()


@transaction.atomic
def delete_job(job: EngineJob, by) -> None:
    """Delete an archived job with its checkpoints, on the request of the person ``by``.

    Uploads stay; ingesting one again adds its checkpoints again.
    """
    audit.note(audit.DELETED, by, f"archived job {job.pk} “{job}”")
    job.delete()


def filter_of(query: Mapping[str, Any]) -> Filter:
    """Return the filter in an address's parameters; empty ones do not count. Raises: Invalid."""
    status = _text(query, "status")
    if status and status not in STATUSES:
        raise Invalid(f"The status must be one of {', '.join(STATUSES)}.", field="status")
    return Filter(
        status=status,
        pipeline=whole(query, "pipeline", most=2**31 - 1),
        since=whole(query, "since"),
        until=whole(query, "until"),
        longer=whole(query, "longer"),
        **{name: _text(query, name) for name in ("kind", "failing", "cause", "phase", "slowest")},
    )


def sort_of(query: Mapping[str, Any]) -> str:
    """Return the sort key in the parameters of an address. Raises: Invalid."""
    sort = query.get("sort") or "-number"
    if sort.removeprefix("-") not in SORTABLE:
        raise Invalid(f"The sort key must be one of {', '.join(SORTABLE)}.", field="sort")
    return sort


def whole(
    query: Mapping[str, Any], name: str, *, least: int = 0, most: int = MOST_INT
) -> int | None:
    """Return a parameter as a whole number, or None if it is missing or empty. Raises: Invalid."""
    given = query.get(name)
    if given is None or given == "":
        return None
    text = str(given)
    if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= most):
        raise Invalid(f"It must be a whole number from {least:,} to {most:,}.", field=name)
    return int(text)


def _text(query: Mapping[str, Any], name: str) -> str:
    return storable(str(query.get(name) or ""))[:LONGEST_TEXT]
