"""The columns of a job, kept in this process: what changed since is read and put in, no more.

A job's ``version`` says whether there is anything new. 100,000 checkpoints take about 13 MB.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass, fields

import numpy as np
from django.db import connection

from snapshots.domain.archive.columns import Coded, Columns
from snapshots.domain.archive.model import STATUSES
from snapshots.models import EngineCheckpoint, EngineJob

MOST_ROWS = 2_000_000  # kept of all jobs together; the jobs that nobody asked for longest go
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
    """All checkpoints of the job; ``job`` as it was just read."""
    with _lock:
        kept = _kept.get(job.pk)
        if kept is None or kept.version < job.version:
            read = _read(job, 0 if kept is None else kept.version)
            kept = _Kept(job.version, read if kept is None else _with(kept.columns, read))
            _kept[job.pk] = kept
        _kept.move_to_end(job.pk)
        while len(_kept) > 1 and sum(len(one.columns) for one in _kept.values()) > MOST_ROWS:
            _kept.popitem(last=False)
        return kept.columns


def forget_all() -> None:
    with _lock:
        _kept.clear()


def _read(job: EngineJob, version: int) -> Columns:
    """The checkpoints that changed after ``version``."""
    asked = EngineCheckpoint.objects.filter(job=job, version__gt=version).order_by()
    names = [_FIELDS.get(name, name) for name in _NAMES]
    with connection.cursor() as cursor:  # plain numbers and texts: Django would look at each
        cursor.execute(*asked.values_list(*names).query.sql_with_params())
        rows = cursor.fetchall()
    found = zip(*rows, strict=True) if rows else [()] * len(_NAMES)
    return _sorted({name: _column(name, own) for name, own in zip(_NAMES, found, strict=True)})


def _column(name: str, values: tuple):
    if name in _TEXTS:
        return Coded.of(values)
    if name == "status":
        coded = Coded.of(values)
        places = np.array([STATUSES.index(each) for each in coded.names], np.int8)
        return places[coded.codes] if len(values) else places
    return np.array(values, np.int64 if name in _WHOLE else np.float64)


def _with(old: Columns, new: Columns) -> Columns:
    """The old rows but those that ``new`` has, and the new ones."""
    rest = np.flatnonzero(~np.isin(old.key, new.key))
    joined = {}
    for name in _NAMES:
        one, other = getattr(old, name), getattr(new, name)
        if isinstance(one, Coded):
            joined[name] = _coded(one, rest, other)
        else:
            joined[name] = np.concatenate([one[rest], other])
    return _sorted(joined)


def _coded(one: Coded, rest, other: Coded) -> Coded:
    places = {name: code for code, name in enumerate(one.names)}
    codes = np.array([places.setdefault(name, len(places)) for name in other.names], np.int32)
    added = codes[other.codes] if len(codes) else other.codes
    return Coded(np.concatenate([one.codes[rest], added]), tuple(places))


def _sorted(columns: dict) -> Columns:
    order = np.lexsort((columns["pipeline"], columns["number"]))
    return Columns(
        **{
            name: Coded(own.codes[order], own.names) if isinstance(own, Coded) else own[order]
            for name, own in columns.items()
        }
    )
