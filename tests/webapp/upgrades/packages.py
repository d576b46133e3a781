"""The packages of earlier versions: unpacked, and loaded into PostgreSQL.

A package holds ``var/``, the folder DATA_DIR as that version left it, and ``facts.json``: what is
in it, and what that version answered.
"""

import json
import sqlite3
import subprocess
import sys
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from tests.stack import ROOT, clean_environment

FOLDER = ROOT / "tests/data/upgrades"
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("*.zip")))
DATABASE = "cutline.sqlite3"
ENDING = ("django_session", "accounts_session", "snapshots_resumableupload")
MIGRATE = """
import json, sys
import django
django.setup()
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
executor = MigrationExecutor(connection)
targets = [tuple(each) for each in json.loads(sys.argv[1])]
executor.migrate([each for each in targets if each in executor.loader.graph.nodes])
"""
COLUMNS = """
SELECT table_name, column_name, udt_name,
       pg_get_serial_sequence(quote_ident(table_name), column_name)
FROM information_schema.columns WHERE table_schema = 'public'
"""


def unpack(name: str, folder: Path) -> dict[str, Any]:
    """Unpack a package into a folder, and return its facts."""
    with zipfile.ZipFile(FOLDER / f"{name}.zip") as package:
        package.extractall(folder)
    _renew(folder / "var" / DATABASE)
    facts: dict[str, Any] = json.loads((folder / "facts.json").read_text())
    return facts


def _renew(database: Path) -> None:
    """Let what would have ended by now, sessions and unfinished uploads, end tomorrow."""
    with closing(sqlite3.connect(database)) as rows:
        named = "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c"
        for table, column in rows.execute(f"{named} WHERE c.type = 'datetime'").fetchall():
            if table in ENDING:
                rows.execute(f"UPDATE {table} SET {column} = datetime('now', '+1 days')")
        rows.commit()


def settings(data: Path, url: str = "") -> dict[str, str]:
    """Return the environment of an installation with this folder and database."""
    database = {"DATABASE_URL": url} if url else {}
    return clean_environment() | {"DATA_DIR": str(data), "PUBLIC_LINKS": "yes"} | database


def move_to_postgres(data: Path, url: str) -> None:
    """Load the rows of a folder's SQLite file into an empty PostgreSQL database, whose tables are
    those of the same migrations, and remove the file."""
    with closing(sqlite3.connect(data / DATABASE)) as old:
        applied = list(old.execute("SELECT app, name FROM django_migrations ORDER BY id"))
        migrate(url, [[app, name] for app, name in applied], data)
        with psycopg.connect(url, options="-c timezone=UTC") as new:
            _copy(old, new)
    for path in data.glob(f"{DATABASE}*"):
        path.unlink()


def migrate(url: str, targets: list[list[str]], data: Path) -> None:
    """Make the tables as they are after these migrations, and no others."""
    command = [sys.executable, "-c", MIGRATE, json.dumps(targets)]
    ran = subprocess.run(command, cwd=ROOT, env=settings(data, url), capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def _copy(old: sqlite3.Connection, new: psycopg.Connection[Any]) -> None:
    """Copy all rows by the names of their columns. Sequences go on behind them."""
    new.execute("SET session_replication_role = replica")  # rows come before those they name
    columns: dict[str, dict[str, tuple[str, str | None]]] = {}
    for table, column, kind, sequence in new.execute(COLUMNS):
        columns.setdefault(table, {})[column] = kind, sequence
    named = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    for (table,) in list(old.execute(named)):
        if table == "django_migrations":
            continue
        rows = old.execute(f'SELECT * FROM "{table}"')
        names = [each[0] for each in rows.description]
        assert set(names) == set(columns[table]), table
        _fill(new, table, [(name, *columns[table][name]) for name in names], rows.fetchall())
    new.execute("SET session_replication_role = origin")


def _fill(
    new: psycopg.Connection[Any],
    table: str,
    columns: list[tuple[str, str, str | None]],
    rows: list[tuple[Any, ...]],
) -> None:
    name = sql.Identifier(table)
    new.execute(sql.SQL("DELETE FROM {}").format(name))
    insert = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
        name,
        sql.SQL(", ").join(sql.Identifier(column) for column, _, _ in columns),
        sql.SQL(", ").join(sql.SQL("%s::" + kind) for _, kind, _ in columns),  # type: ignore[arg-type]
    )
    with new.cursor() as cursor:
        cursor.executemany(insert, [[_text(value) for value in row] for row in rows])
    for column, _, sequence in columns:
        if sequence and rows:
            last = sql.SQL("SELECT setval(%s, (SELECT max({}) FROM {}))")
            new.execute(last.format(sql.Identifier(column), name), [sequence])


def _text(value: Any) -> Any:
    """Return a value of SQLite as PostgreSQL casts it."""
    return value if value is None or isinstance(value, bytes) else str(value)
