"""Keep the columns of jobs in this process, and read only the rows that changed since.

A job's ``version`` shows whether any row changed. 100,000 checkpoints take about 13 MB.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from django.db import connection

from snapshots.domain.archive.columns import Coded, Columns
from snapshots.domain.archive.model import STATUSES
from snapshots.models import EngineCheckpoint, EngineJob

MOST_ROWS = 2_000_000  # of all jobs together; the columns that were unused longest are dropped
MOST_JOBS = 500  # also without rows, columns take some kilobytes
_FIELDS = {
    "key": "pk",
    "start_delay": "start_delay_max",
    "alignment": "alignment_max",
    "sync": "sync_max",
    "async_": "async_max",
}
_WHOLE = ("key", "pipeline", "number")
_TEXTS = ("kind", "slowest", "cause", "phase", "failure")
_NAMES = tuple(field.name for field in fields(Columns))


@dataclass(frozen=True)
class _Kept:
    version: int
    columns: Columns


_kept: "OrderedDict[int, _Kept]" = OrderedDict()
_lock = threading.Lock()


def columns_of(job: EngineJob) -> Columns:
    """Return all checkpoints of a job as columns; ``job`` must have been read just now."""
    with _lock:
        kept = _kept.get(job.pk)
        if kept is None or kept.version < job.version:
            read = _read(job, 0 if kept is None else kept.version)
            kept = _Kept(job.version, read if kept is None else _with(kept.columns, read))
            _kept[job.pk] = kept
        _kept.move_to_end(job.pk)
        while len(_kept) > 1 and _are_too_many():
            _kept.popitem(last=False)
        return kept.columns


def _are_too_many() -> bool:
    rows = sum(len(kept.columns) for kept in _kept.values())
    return rows > MOST_ROWS or len(_kept) > MOST_JOBS


def forget_all() -> None:
    with _lock:
        _kept.clear()


def _read(job: EngineJob, version: int) -> Columns:
    """Read the checkpoints that changed after ``version``."""
    changed = EngineCheckpoint.objects.filter(job=job, version__gt=version).order_by()
    names = [_FIELDS.get(name, name) for name in _NAMES]
    with connection.cursor() as cursor:  # raw numbers and texts; Django would convert each value
        cursor.execute(*changed.values_list(*names).query.sql_with_params())
        rows = cursor.fetchall()
    columns = zip(*rows, strict=True) if rows else [()] * len(_NAMES)
    return _sorted({name: _column(name, own) for name, own in zip(_NAMES, columns, strict=True)})


def _column(name: str, values: tuple) -> Coded | np.ndarray:
    if name in _TEXTS:
        return Coded.of(values)
    if name == "status":
        coded = Coded.of(values)
        statuses = np.array([STATUSES.index(each) for each in coded.names], np.int8)
        return statuses[coded.codes] if len(values) else statuses
    return np.array(values, np.int64 if name in _WHOLE else np.float64)


def _with(old: Columns, new: Columns) -> Columns:
    """Merge columns: the new rows, and the old ones that they do not replace."""
    rest = np.flatnonzero(~np.isin(old.key, new.key))
    joined: dict[str, Any] = {}
    for name in _NAMES:
        before, after = getattr(old, name), getattr(new, name)
        if isinstance(before, Coded):
            joined[name] = _coded(before, rest, after)
        else:
            joined[name] = np.concatenate([before[rest], after])
    return _sorted(joined)


def _coded(before: Coded, rest, after: Coded) -> Coded:
    codes_of = {name: code for code, name in enumerate(before.names)}
    codes = np.array([codes_of.setdefault(name, len(codes_of)) for name in after.names], np.int32)
    added = codes[after.codes] if len(codes) else after.codes
    return Coded(np.concatenate([before.codes[rest], added]), tuple(codes_of))


def _sorted(columns: dict[str, Any]) -> Columns:
    order = np.lexsort((columns["pipeline"], columns["number"]))
    ordered: dict[str, Any] = {
        name: Coded(own.codes[order], own.names) if isinstance(own, Coded) else own[order]
        for name, own in columns.items()
    }
    return Columns(**ordered)
