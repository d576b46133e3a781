"""Queries on a real Flink, each stopped with a savepoint, and what names their columns.

It runs with a Python that has `apache-flink` (docs/real-flink.md), not with Cutline's own, and
JAVA_HOME must be set:

    PYTHON bench/flink_sql_jobs.py FOLDER [CASE ...]

Each case gets a folder: ``files`` (the savepoint), ``rest`` (answers of the REST API), and beside
them ``tables.sql`` (CREATE TABLE), ``inserts.sql``, ``explain.txt`` (EXPLAIN) and ``plan.json``
(COMPILE PLAN). The rows of the tables are always the same, so that what a state holds is known.
"""

import json
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

from pyflink.common import Configuration
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.java_gateway import get_gateway
from pyflink.table import StreamTableEnvironment

PORT = "8993"  # of the REST API
SECONDS = 9  # until a job has read all rows
START = 1_700_000_000_000  # 14 November 2023, 22:13:20 in UTC
SETTINGS = {
    "rest.address": "127.0.0.1",
    "rest.port": PORT,
    "rest.bind-port": PORT,
    "restart-strategy.type": "none",
    "parallelism.default": "2",
    "pipeline.max-parallelism": "16",
    "execution.checkpointing.interval": "1h",
    "state.backend.type": "hashmap",
    "taskmanager.numberOfTaskSlots": "4",
    "taskmanager.memory.network.min": "256m",
    "taskmanager.memory.network.max": "256m",
    "taskmanager.memory.managed.size": "128m",
}
TEXTS = ("a", "b", "a-text-that-is-too-long-for-a-slot")
ROWS = {
    "e": [(i % 3 if i % 5 else "", i, TEXTS[i % 3], START + i * 600_000) for i in range(1, 13)],
    "f": [(i % 2, 100 + i, f"f{i % 4}", START + i * 900_000) for i in range(1, 9)],
    "n": [(i % 3, i, f"2023-11-15 0{i}:30:00") for i in range(1, 10)],
    # On both sides of the end of summer time in New York, on 5 November 2023.
    "d": [(1, i, 1_699_099_200_000 + i * 86_400_000) for i in range(2)],
}
COLUMNS = {
    "e": "k INT, id BIGINT, s STRING, ms BIGINT, ts AS TO_TIMESTAMP_LTZ(ms, 3), pt AS PROCTIME(), "
    "WATERMARK FOR ts AS ts - INTERVAL '1' SECOND",
    "f": "k INT, id BIGINT, s STRING, ms BIGINT, ts AS TO_TIMESTAMP_LTZ(ms, 3), pt AS PROCTIME(), "
    "WATERMARK FOR ts AS ts - INTERVAL '1' SECOND",
    "p": "k INT NOT NULL, id BIGINT, s STRING, ms BIGINT, ts AS TO_TIMESTAMP_LTZ(ms, 3), "
    "WATERMARK FOR ts AS ts, PRIMARY KEY (k) NOT ENFORCED",
    "n": "k INT, id BIGINT, t TIMESTAMP(3), WATERMARK FOR t AS t",
    "d": "k INT, id BIGINT, ms BIGINT, ts AS TO_TIMESTAMP_LTZ(ms, 3), "
    "WATERMARK FOR ts AS ts - INTERVAL '3' DAY",
}
FILES = {"p": "f"}  # a table that reads the rows of another
OVER = "SUM(id) OVER (PARTITION BY k ORDER BY"
FIRST = "ROW_NUMBER() OVER (PARTITION BY"
DAY = "TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '1' DAY))"
BY_WINDOW = "GROUP BY k, window_start, window_end"
Case = dict[str, Any]


def upserting(strategy: str) -> Case:
    """Return a case with a sink whose rows come from several rows of the query."""
    return {
        "set": {
            "table.exec.sink.upsert-materialize": "FORCE",
            "table.exec.sink.upsert-materialize-strategy.type": strategy,
        },
        "sinks": {"upserted": "k INT, s STRING, id BIGINT, PRIMARY KEY (k) NOT ENFORCED"},
        "queries": {"upserted": ["SELECT e.k, f.s, e.id FROM e JOIN f ON e.k = f.k"]},
    }


CASES: dict[str, Case] = {
    "joins": {
        "compiled": True,
        "sinks": {"results": "id BIGINT, s STRING"},
        "queries": {
            "results": [
                "SELECT e.id, f.s FROM e JOIN f ON e.k = f.k",
                "SELECT e.id, f.s FROM e LEFT JOIN f ON e.k = f.k AND e.id < f.id - 101",
                "SELECT e.id, f.m FROM e FULL JOIN "
                "(SELECT k, MAX(s) AS m FROM f GROUP BY k) f ON e.k = f.k",
                "SELECT e.id, f.m FROM e RIGHT JOIN "
                "(SELECT k, id, MAX(s) AS m FROM f GROUP BY k, id) f ON e.k = f.k",
                "SELECT id, s FROM e WHERE EXISTS (SELECT 1 FROM f WHERE f.k = e.k)",
                "SELECT id, s FROM e WHERE NOT EXISTS (SELECT 1 FROM f WHERE f.k = e.k)",
            ]
        },
    },
    "multi-join": {
        "set": {"table.optimizer.multi-join.enabled": "true"},
        "sinks": {"results": "id BIGINT, s STRING, c BIGINT"},
        "queries": {
            "results": [
                "SELECT e.id, f.s, g.c FROM e LEFT JOIN f ON e.k = f.k JOIN "
                "(SELECT k, COUNT(*) AS c FROM f GROUP BY k) g ON g.k = e.k"
            ]
        },
    },
    "over": {
        "sinks": {"results": "id BIGINT, total BIGINT"},
        "queries": {
            "results": [
                f"SELECT id, {OVER} ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM e",
                f"SELECT id, {OVER} ts RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW) "
                "FROM e",
                f"SELECT id, {OVER} ts RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM e",
                f"SELECT id, {OVER} ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM e",
                f"SELECT id, {OVER} pt ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM e",
                f"SELECT id, {OVER} pt RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW) "
                "FROM e",
                f"SELECT id, {OVER} pt ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM e",
                f"SELECT id, {OVER} c) FROM "
                "(SELECT k, MAX(id) AS id, COUNT(*) AS c FROM f GROUP BY k)",
            ]
        },
    },
    "match": {
        "sinks": {"results": "k INT, x BIGINT, y BIGINT"},
        "queries": {
            "results": [
                "SELECT k, x, y FROM e MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts "
                "MEASURES A.id AS x, B.id AS y ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW "
                "PATTERN (A B) DEFINE A AS A.id > 1, B AS B.id > 1000)"
            ]
        },
    },
    "windows": {
        "set": {"table.local-time-zone": "Asia/Shanghai"},
        "sinks": {"results": "k INT, c BIGINT"},
        "queries": {
            "results": [
                f"SELECT k, COUNT(*) FROM {DAY} {BY_WINDOW}",
                "SELECT k, COUNT(*) FROM TABLE(HOP(TABLE e, DESCRIPTOR(ts), INTERVAL '6' HOUR, "
                f"INTERVAL '1' DAY)) {BY_WINDOW}",
                "SELECT k, COUNT(*) FROM TABLE(CUMULATE(TABLE e, DESCRIPTOR(ts), "
                f"INTERVAL '6' HOUR, INTERVAL '1' DAY)) {BY_WINDOW}",
                "SELECT k, COUNT(*) FROM TABLE(SESSION(TABLE e PARTITION BY k, DESCRIPTOR(ts), "
                f"INTERVAL '1' DAY)) {BY_WINDOW}",
                "SELECT k, COUNT(*) FROM e GROUP BY k, TUMBLE(ts, INTERVAL '1' DAY)",
                "SELECT k, COUNT(*) FROM TABLE(TUMBLE(TABLE n, DESCRIPTOR(t), INTERVAL '1' DAY)) "
                f"{BY_WINDOW}",
                f"SELECT k, id FROM (SELECT *, {FIRST} window_start, window_end, k ORDER BY id "
                f"DESC) AS rn FROM {DAY}) WHERE rn <= 2",
                f"SELECT k, id FROM (SELECT *, {FIRST} window_start, window_end, k ORDER BY ts "
                f"DESC) AS rn FROM {DAY}) WHERE rn = 1",
                f"SELECT l.k, r.id FROM (SELECT * FROM {DAY}) l JOIN (SELECT * FROM "
                "TABLE(TUMBLE(TABLE f, DESCRIPTOR(ts), INTERVAL '1' DAY))) r ON l.k = r.k "
                "AND l.window_start = r.window_start AND l.window_end = r.window_end",
            ]
        },
    },
    "summer-time": {
        "set": {"table.local-time-zone": "America/New_York"},
        "sinks": {"results": "k INT, c BIGINT"},
        "queries": {
            "results": [
                "SELECT k, COUNT(*) FROM TABLE(TUMBLE(TABLE d, DESCRIPTOR(ts), INTERVAL '1' DAY)) "
                f"{BY_WINDOW}"
            ]
        },
    },
    **{
        f"upsert-{strategy.lower()}": upserting(strategy)
        for strategy in ("LEGACY", "VALUE", "MAP", "ADAPTIVE")
    },
    "ttl": {
        "compiled": True,
        "set": {"table.exec.state.ttl": "7 d"},
        "sinks": {"joined": "id BIGINT, s STRING", "results": "k INT, n BIGINT"},
        "queries": {
            "joined": [
                "SELECT /*+ STATE_TTL('e'='3d','f'='1d') */ e.id, f.s FROM e LEFT JOIN f "
                "ON e.k = f.k"
            ],
            "results": [
                "SELECT k, SUM(id) FROM e GROUP BY k",
                f"SELECT k, {OVER} ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM e",
                f"SELECT k, id FROM (SELECT *, {FIRST} k ORDER BY id DESC) AS rn FROM e) "
                "WHERE rn <= 2",
            ],
        },
    },
    "aggregates": {
        "sinks": {"numbers": "k INT, n BIGINT", "texts": "k INT, s STRING"},
        "queries": {
            "numbers": [
                "SELECT k, COUNT(DISTINCT s) FROM e GROUP BY k",
                "SELECT c, MAX(m) FROM (SELECT k, CAST(COUNT(*) AS INT) AS c, MAX(id) AS m FROM e "
                "GROUP BY k) GROUP BY c",
                "SELECT k, COUNT(*) FROM (SELECT DISTINCT k, s FROM e) GROUP BY k",
            ],
            "texts": [
                "SELECT k, LISTAGG(s) FROM e GROUP BY k",
                "SELECT c, LISTAGG(m) FROM (SELECT k, CAST(COUNT(*) AS INT) AS c, MAX(s) AS m "
                "FROM e GROUP BY k) GROUP BY c",
            ],
        },
    },
    "mini-batch": {
        "set": {
            "table.exec.mini-batch.enabled": "true",
            "table.exec.mini-batch.allow-latency": "1 s",
            "table.exec.mini-batch.size": "100",
            "table.optimizer.distinct-agg.split.enabled": "true",
        },
        "sinks": {"results": "k INT, n BIGINT"},
        "queries": {
            "results": [
                "SELECT k, COUNT(DISTINCT s) FROM e GROUP BY k",
                "SELECT k, SUM(id) FROM e GROUP BY k",
                f"SELECT k, id FROM (SELECT *, {FIRST} k ORDER BY ts DESC) AS rn FROM e) "
                "WHERE rn = 1",
                "SELECT e.k, f.id FROM e JOIN f ON e.k = f.k",
            ]
        },
    },
    "kept-rows": {
        "sinks": {"results": "k INT, n BIGINT"},
        "queries": {
            "results": [
                *(
                    f"SELECT k, id FROM (SELECT *, {FIRST} k ORDER BY {order}) AS rn FROM e) "
                    f"WHERE rn {which}"
                    for order, which in (
                        ("pt", "= 1"),
                        ("pt DESC", "= 1"),
                        ("ts", "= 1"),
                        ("ts DESC", "= 1"),
                        ("id", "= 1"),
                        ("pt", "<= 3"),
                    )
                ),
                "SELECT CAST(c AS INT), m FROM (SELECT k, COUNT(*) AS c, MAX(id) AS m FROM e "
                "GROUP BY k) ORDER BY c LIMIT 2",
                "SELECT k, id FROM e LIMIT 5",
            ]
        },
    },
    "temporal": {
        "sinks": {"results": "id BIGINT, s STRING"},
        "queries": {
            "results": [
                "SELECT e.id, p.s FROM e JOIN p FOR SYSTEM_TIME AS OF e.ts AS p ON e.k = p.k",
                "SELECT e.id, f.s FROM e LEFT JOIN f ON e.k = f.k AND e.ts BETWEEN "
                "f.ts - INTERVAL '1' HOUR AND f.ts + INTERVAL '2' HOUR",
                "SELECT e.id, f.s FROM e JOIN f ON e.k = f.k AND e.pt BETWEEN "
                "f.pt - INTERVAL '1' HOUR AND f.pt",
            ]
        },
    },
}


def tables(folder: Path) -> list[str]:
    """Write the rows of all tables, and return the statements that create them."""
    for name, rows in ROWS.items():
        file = folder / "input" / name / "rows.csv"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    return [
        f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'filesystem', "
        f"'path' = '{(folder / 'input' / FILES.get(name, name)).as_uri()}', 'format' = 'csv', "
        "'csv.null-literal' = '', 'source.monitor-interval' = '1h')"
        for name, columns in COLUMNS.items()
    ]


def run(name: str, case: Case, folder: Path) -> str:
    """Run one case until a savepoint, and return the path of that."""
    configuration = Configuration()
    settings = SETTINGS | {"execution.checkpointing.dir": (folder / "files").as_uri()}
    for key, value in settings.items():
        configuration.set_string(key, value)
    flink = StreamTableEnvironment.create(
        StreamExecutionEnvironment.get_execution_environment(configuration)
    )
    own = {"table.exec.source.idle-timeout": "1 s", "pipeline.name": name, **case.get("set", {})}
    for key, value in own.items():
        flink.get_config().set(key, value)
    created = tables(folder) + [
        f"CREATE TABLE {sink} ({columns}) WITH ('connector' = 'blackhole')"
        for sink, columns in case["sinks"].items()
    ]
    for statement in created:
        flink.execute_sql(statement)
    (folder / "tables.sql").write_text(";\n".join(created) + ";\n")
    inserts = [f"INSERT INTO {to} {q}" for to, queries in case["queries"].items() for q in queries]
    (folder / "inserts.sql").write_text(";\n".join(inserts) + ";\n")
    statements = f"STATEMENT SET BEGIN {'; '.join(inserts)}; END"
    explained = flink.execute_sql(f"EXPLAIN {statements}").collect().next()[0]
    (folder / "explain.txt").write_text(explained)
    plan = folder / "plan.json"
    plan.unlink(missing_ok=True)
    flink.execute_sql(f"COMPILE PLAN '{plan.as_uri()}' FOR {statements}")
    executed = (
        f"EXECUTE PLAN '{plan.as_uri()}'" if case.get("compiled") else f"EXECUTE {statements}"
    )
    client = flink.execute_sql(executed).get_job_client()
    time.sleep(SECONDS)
    job = f"/jobs/{client.get_job_id()}"
    for answer, path in (
        ("job", ""),
        ("plan", "/plan"),
        ("checkpoints-config", "/checkpoints/config"),
    ):
        keep(folder / "rest" / f"{answer}.json", job + path)
    formats = get_gateway().jvm.org.apache.flink.core.execution.SavepointFormatType
    target = (folder / "files").as_uri()
    savepoint = client._j_job_client.triggerSavepoint(target, formats.CANONICAL).get()
    keep(folder / "rest" / "checkpoints.json", f"{job}/checkpoints")
    client.cancel().result()
    time.sleep(1)
    return savepoint


def keep(file: Path, path: str) -> None:
    """Write an answer of the REST API to a file."""
    file.parent.mkdir(exist_ok=True)
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}{path}", timeout=10) as answer:
        file.write_text(json.dumps(json.load(answer)))


def main() -> None:
    root, wanted = Path(sys.argv[1]).resolve(), sys.argv[2:]
    for name, case in CASES.items():
        if not wanted or name in wanted:
            folder = root / name
            folder.mkdir(parents=True, exist_ok=True)
            print(name, run(name, case, folder), flush=True)


if __name__ == "__main__":
    main()
