"""The savepoints and checkpoints of `bench/real_restarts.py`, and what is done to copies of them.

A design names what differs from `DEFAULTS` of `bench/upgrade_jobs.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.upgrade_cases import BASES as UPGRADED
from bench.upgrade_cases import TOTALS_OF_DOUBLES

Design = dict[str, Any]
IN_FILES = {
    "execution.checkpointing.storage": "filesystem",
    "execution.checkpointing.data-inline-threshold": "0 b",
}
RETAINED = IN_FILES | {
    "execution.checkpointing.interval": "1 s",
    "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
}
UNALIGNED = RETAINED | {"execution.checkpointing.unaligned.enabled": "true"}
INCREMENTAL = RETAINED | {"execution.checkpointing.incremental": "true"}
MERGED = RETAINED | {"execution.checkpointing.file-merging.enabled": "true"}
EVENTS = (
    "CREATE TABLE {} (n BIGINT, k AS MOD(n, 5), ts AS TO_TIMESTAMP_LTZ(n * 1000, 3), p AS "
    "PROCTIME(), WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen', 'rows-per-second' = '20', "
    "'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '3000')"
)
OUT = "CREATE TABLE o (a BIGINT, b BIGINT) WITH ('connector' = 'blackhole')"
RANKED = (
    "SELECT k, n FROM (SELECT k, n, ROW_NUMBER() OVER (PARTITION BY k ORDER BY {}) AS r FROM e) "
    "WHERE r <= {}"
)


def _query(select: str, settings: dict[str, str] = IN_FILES, **design: Any) -> Design:
    tables = [EVENTS.format("e"), EVENTS.format("f"), OUT]
    sql = {"tables": tables, "insert": f"INSERT INTO o {select}"}
    return {"sql": sql, "seconds": 7, "settings": settings, **design}


def _python(settings: dict[str, str] = IN_FILES, **design: Any) -> Design:
    return {"mode": "process", "settings": settings, **design}


OPTIONS = b"# This is a RocksDB option file."
COUNTED = "SELECT k, COUNT(*) FROM e GROUP BY k"
BASES: dict[str, Design] = {
    "sql": UPGRADED["sql"] | {"settings": IN_FILES, "seconds": 8},
    "sql-join": _query("SELECT e.n, f.n FROM e LEFT JOIN f ON e.n = f.n * 2"),
    "sql-top": _query(RANKED.format("n DESC", 3), backend="rocksdb"),
    "sql-latest": _query(RANKED.format("p DESC", 1), backend="rocksdb", format="NATIVE"),
    "sql-window": _query(
        "SELECT k, COUNT(*) FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '30' SECOND)) "
        "GROUP BY window_start, window_end, k",
        RETAINED,
    ),
    "sql-over": _query(
        "SELECT k, SUM(n) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 3 PRECEDING AND CURRENT "
        "ROW) FROM e",
        INCREMENTAL,
        backend="rocksdb",
    ),
    "sql-interval": _query(
        "SELECT e.n, f.n FROM e JOIN f ON e.k = f.k AND e.ts BETWEEN f.ts - INTERVAL '9' SECOND "
        "AND f.ts",
        UNALIGNED,
    ),
    "sql-distinct": _query("SELECT k, COUNT(DISTINCT MOD(n, 7)) FROM e GROUP BY k", MERGED),
    "sql-ttl": _query(COUNTED, IN_FILES | {"table.exec.state.ttl": "1 h"}, format="NATIVE"),
    "sql-forst": _query(COUNTED, RETAINED, backend="forst"),
    "stream": {"settings": IN_FILES},
    "stream-no-uids": {"settings": RETAINED, "uids": False},
    "python": _python(),
    "python-list": _python(count={"name": "count", "kind": "list", "type": "long"}),
    "python-numbers": _python(key="long"),
    "python-text": _python(count={"name": "count", "kind": "value", "type": "string"}),
    "python-one": _python(order=["count"], parity=False, timers=False),
    "python-rocksdb": _python(backend="rocksdb"),
    "python-native": _python(backend="rocksdb", format="NATIVE"),
    "python-no-uids": _python(uids=False),
    "python-checkpoint": _python(RETAINED),
    "python-incremental": _python(INCREMENTAL, backend="rocksdb"),
    "python-unaligned": _python(UNALIGNED),
}


def is_kept(base: str) -> bool:
    """Tell whether it is a checkpoint that stays when the job is cancelled, not a savepoint."""
    return "execution.checkpointing.interval" in BASES[base]["settings"]


def _largest(at: Path) -> Path:
    """Return the largest file of state but RocksDB's options; the first one by name of several."""
    home = at.parent if at.name.startswith("chk-") else at
    files = [file for file in sorted(home.rglob("*")) if file.is_file()]
    of_state = [file for file in files if file.name != "_metadata"]
    of_state = [file for file in of_state if not file.read_bytes().startswith(OPTIONS)]
    return max(of_state, key=lambda file: file.stat().st_size)


def _cut(file: Path, left: int) -> None:
    file.write_bytes(file.read_bytes()[:left])


@dataclass(frozen=True)
class Case:
    """What is done to a copy of a savepoint, and how the job differs that starts from it.

    Attributes:
        damage: is given the folder of the `_metadata`.
        changes: by which the design of the new job differs; `check_upgrade` answers if there are.
    """

    name: str
    told: str
    damage: Callable[[Path], object] = lambda savepoint: None
    changes: dict[str, Design] = field(default_factory=dict)


SUM_OF_DOUBLES = UPGRADED["sql"]["sql"] | {
    "tables": [UPGRADED["sql"]["sql"]["tables"][0], TOTALS_OF_DOUBLES],
    "insert": UPGRADED["sql"]["sql"]["insert"].replace("SUM(n)", "SUM(CAST(n AS DOUBLE))"),
}
CASES = (
    Case("same", "nothing"),
    Case("left-over", "a file that nothing names", lambda at: (at / "left").write_bytes(b"x")),
    Case("file-removed", "the largest file of state removed", lambda at: _largest(at).unlink()),
    Case("file-halved", "its second half cut off", lambda at: _cut(
        _largest(at), _largest(at).stat().st_size // 2)),
    Case("last-byte", "its last byte cut off", lambda at: _cut(_largest(at), -1)),
    Case("file-empty", "all its bytes cut off", lambda at: _cut(_largest(at), 0)),
    Case("metadata-halved", "second half of `_metadata` cut off", lambda at: _cut(
        at / "_metadata", (at / "_metadata").stat().st_size // 2)),
    Case("metadata-empty", "`_metadata` empty", lambda at: _cut(at / "_metadata", 0)),
    Case("maximum", "maximum parallelism 8 → 16", changes={
        base: {"max_parallelism": 16} for base in BASES}),
    Case("wider", "parallelism raised", changes={
        base: {"width": 2} if "sql" in design else {"parallelism": {"count": 3, "account": 1}}
        for base, design in BASES.items()}),
    Case("job", "in SQL the sum is of doubles; in Python, operator `account` removed", changes={
        "sql": {"sql": SUM_OF_DOUBLES, "seconds": 8}, "python": {"order": ["count"]}}),
)  # fmt: skip
WHOLE = ("sql", "python")  # the savepoints that get every case
KEPT = (*WHOLE, "sql-over", "sql-distinct", "python-unaligned")  # for the tests
_TURNS = (
    ("file-removed", "wider"),
    ("last-byte", "wider"),
    ("file-halved", "maximum"),
    ("metadata-halved", "wider"),
    ("file-empty", "maximum"),
)


def cases_of(base: str) -> list[Case]:
    """Return the cases of a savepoint: all of them, or unchanged, one damage and one change."""
    if base in WHOLE:
        return list(CASES)
    names = ("same", *_TURNS[list(BASES).index(base) % len(_TURNS)])
    return [case for case in CASES if case.name in names]
