"""The savepoints and the new jobs of `bench/real_upgrades.py`.

A design names what differs from `DEFAULTS` of `bench/upgrade_jobs.py`.
"""

import re
from dataclasses import dataclass
from typing import Any

NUMBERS = (
    "CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '20', "
    "'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '1500')"
)
TOTALS = "CREATE TABLE totals (k BIGINT, c BIGINT, s BIGINT) WITH ('connector' = 'print')"
TOTALS_WITH_MAXIMUM = TOTALS.replace("s BIGINT", "s BIGINT, m BIGINT")
TOTALS_OF_DOUBLES = TOTALS.replace("s BIGINT", "s DOUBLE")
QUERY = "INSERT INTO totals SELECT MOD(n, 5), COUNT(*), SUM({of}){more} FROM numbers{where} {group}"
GROUP = "GROUP BY MOD(n, 5)"


def _sql(totals: str = TOTALS, of: str = "n", more: str = "", where: str = "") -> dict[str, Any]:
    insert = QUERY.format(of=of, more=more, where=where, group=GROUP)
    return {"seconds": 20, "sql": {"tables": [NUMBERS, totals], "insert": insert}}


def _with_uids(design: dict[str, Any]) -> dict[str, Any]:
    settings = {"table.exec.uid.generation": "ALWAYS"}
    return design | {"sql": design["sql"] | {"settings": settings}}


BASES: dict[str, dict[str, Any]] = {
    "uids": {},
    "no-uids": {"uids": False},
    "python-bytes": {"mode": "process"},
    "rocksdb-native": {
        "backend": "rocksdb",
        "format": "NATIVE",
        "order": ["count"],
        "parallelism": {"count": 1},
    },
    "sql": _sql(),
}


@dataclass(frozen=True)
class Case:
    """A new job and the savepoint that it is started from.

    Attributes:
        name: of the folder.
        base: the savepoint, a key of BASES.
        changed: what differs from the job that wrote the savepoint, in words.
        changes: the same as a design.
    """

    name: str
    base: str
    changed: str
    changes: dict[str, Any]


def _count(**changes: str) -> dict[str, Any]:
    return {"count": {"name": "count", "kind": "value", "type": "long"} | changes}


IDS_BY_HAND = "by hand"  # replaced by the ids in the savepoint
CASES = (
    Case("same", "uids", "nothing", {}),
    Case("uid", "uids", "uid of `count` renamed to `counter`", {"uid_of": {"count": "counter"}}),
    Case(
        "parallelism", "uids", "parallelism of `count` 2 → 3, of `account` 2 → 1",
        {"parallelism": {"count": 3, "account": 1}},
    ),
    Case(
        "too-wide", "uids", "parallelism of `count` 2 → 9, maximum 8",
        {"parallelism": {"count": 9}},
    ),
    Case("maximum", "uids", "maximum parallelism 8 → 16", {"max_parallelism": 16}),
    Case("no-maximum", "uids", "maximum parallelism no longer set", {"max_parallelism": None}),
    Case(
        "too-wide-unset", "uids", "maximum parallelism no longer set, `count` 2 → 9",
        {"max_parallelism": None, "parallelism": {"count": 9}},
    ),
    Case("removed", "uids", "operator `account` removed", {"order": ["count"]}),
    Case(
        "added", "uids", "stateful operator `extra` added",
        {"order": ["count", "account", "extra"]},
    ),
    Case("moved", "uids", "`account` moved before `count`", {"order": ["account", "count"]}),
    Case("state-renamed", "uids", "state `count` renamed to `n`", _count(name="n")),
    Case("state-removed", "uids", "map state `parity` removed", {"parity": False}),
    Case("state-type", "uids", "state `count` from `Long` to `String`", _count(type="string")),
    Case("state-kind", "uids", "state `count` from value to list", _count(kind="list")),
    Case("list-type", "uids", "list `history` from `Long` to `String`", {"history": "string"}),
    Case("key-type", "uids", "key from `String` to `Long`", {"key": "long"}),
    Case("to-rocksdb", "uids", "backend hashmap → RocksDB", {"backend": "rocksdb"}),
    Case("uids-dropped", "uids", "all uids removed", {"uids": False}),
    Case("to-process", "uids", "Python in processes, not threads", {"mode": "process"}),
    Case("generated-same", "no-uids", "nothing", {}),
    Case("generated-map", "no-uids", "a map without state inserted", {"inserted": True}),
    Case(
        "generated-swapped", "no-uids", "`count` and `account` change places",
        {"order": ["account", "count"]},
    ),
    Case(
        "generated-narrow", "no-uids", "`count` and `account` 2 → 1 subtask, so they are chained",
        {"parallelism": {"count": 1, "account": 1}},
    ),
    Case("unchained", "no-uids", "chaining turned off", {"chaining": False}),
    Case("uids-added", "no-uids", "uids added", {"uids": True}),
    Case("hashes-twice", "no-uids", "map inserted, ids set with `setUidHash`, one twice",
         {"inserted": True, "hash_of": IDS_BY_HAND}),
    Case("hashes", "no-uids", "map with a uid inserted, ids of the others set with `setUidHash`",
         {"inserted": True, "hash_of": IDS_BY_HAND, "uid_of": {"inserted": "inserted"}}),
    Case("bytes-same", "python-bytes", "nothing", {}),
    Case("bytes-type", "python-bytes", "`count` from `Long` to `String`", _count(type="string")),
    Case("bytes-renamed", "python-bytes", "state `count` renamed to `n`", _count(name="n")),
    Case("native-same", "rocksdb-native", "nothing", {}),
    Case("native-heap", "rocksdb-native", "backend RocksDB → hashmap", {"backend": "hashmap"}),
    Case("sql-same", "sql", "nothing", {}),
    Case("sql-filter", "sql", "`WHERE n > 0` added", _sql(where=" WHERE n > 0")),
    Case("sql-more", "sql", "`MAX(n)` added", _sql(TOTALS_WITH_MAXIMUM, more=", MAX(n)")),
    Case(
        "sql-type", "sql", "`SUM(n)` becomes `SUM(CAST(n AS DOUBLE))`",
        _sql(TOTALS_OF_DOUBLES, of="CAST(n AS DOUBLE)"),
    ),
    Case("sql-uids", "sql", "`table.exec.uid.generation: ALWAYS`", _with_uids(_sql())),
)  # fmt: skip


def design_name(operator: str) -> str:
    """Return the name in the design of an operator that PyFlink calls ``Source: name, …``."""
    return re.split(r"[,\[]", operator)[0].removeprefix("Source: ")


def declared(job: list[dict[str, Any]], design: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the list of uids of a job with the states that its operators register."""
    states = _states_of_query(design) if "sql" in design else _states(design)
    for vertex in job:
        for operator in vertex["operators"]:
            found = states.get(design_name(operator["name"]), [])
            operator |= {"states": found, "timers": ["user-timers"] if found else []}
    return job


def _states(design: dict[str, Any]) -> dict[str, list[dict[str, str]]]:
    """Return the states of each operator as Flink sees them.

    A Python worker process gives Flink bytes only: values as lists of one, under its own names.
    """
    if design.get("mode") == "process":
        return _states_in_bytes(design)
    key = f"row<{design.get('key', 'string')}>"
    count = {"name": "count", "kind": "value", "type": "long"} | design.get("count", {})
    lists = [
        _state(count["name"], count["kind"], count["type"], key),
        *([_state("parity", "map", "string -> long", key)] if design.get("parity", True) else []),
    ]
    account = [
        _state("total", "value", "bytes", key),
        _state("history", "list", design.get("history", "long"), key),
    ]
    return {"count": lists, "account": account, "extra": account}


def _states_of_query(design: dict[str, Any]) -> dict[str, list[dict[str, str]]]:
    """Return the states of a query: the row of the aggregation has a column for each function."""
    functions = 3 if "MAX" in design["sql"]["insert"] else 2
    columns = ["BIGINT"] * functions
    if "DOUBLE" in design["sql"]["insert"]:
        columns[1] = "DOUBLE"
    row = f"rowdata<{', '.join(columns)}>"
    sequence = {"name": "n-sequence-state", "kind": "operator list", "type": "long"}
    return {
        "numbers": [sequence],
        "GroupAggregate": [_state("accState", "value", row, "rowdata<INT>")],
    }


def _states_in_bytes(design: dict[str, Any]) -> dict[str, list[dict[str, str]]]:
    def of(name: str, kind: str = "list", type_: str = "bytes") -> dict[str, str]:
        return _state(f"python-state-{name}", kind, type_, f"row<{design.get('key', 'string')}>")

    count = [
        of(design.get("count", {}).get("name", "count")),
        of("parity", "map", "bytes -> bytes"),
    ]
    account = [of("total"), of("history")]
    return {"count": count, "account": account, "extra": account}


def _state(name: str, kind: str, type_: str, key: str) -> dict[str, str]:
    return {"name": name, "kind": f"keyed {kind}", "type": type_, "key": key}
