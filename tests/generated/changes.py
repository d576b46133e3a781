"""Which rows of a database changed, and whose they are. SQLite only."""

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

UNCOUNTED = {"last_used_at", "last_login", "uses", "revision", "changed_at"}
"""Columns that note a use, which reading changes, too, and those that note any change of a review:
a commenter adds own entries to its timeline. What was changed is in another column or row."""
BESIDE = {
    "accounts_auditentry", "django_session", "snapshots_idempotentrequest",
    "snapshots_installation",
}  # fmt: skip
PEOPLE = "auth_user"

Key = tuple[str, object]


@dataclass(frozen=True)
class Rows:
    """All rows of a database: the digest of each, what it refers to, and who owns it."""

    digests: dict[Key, str]
    references: dict[Key, tuple[Key, ...]]
    owners: dict[Key, object]

    def owned_by(self, people: Iterable[int]) -> set[Key]:
        """Return the rows of these people and teams, and all that refer to them."""
        found: set[Key] = {(PEOPLE, pk) for pk in people}
        size = 0
        while size != len(found):
            size = len(found)
            found |= {key for key, to in self.references.items() if found.intersection(to)}
        return found


def read(database: Path) -> Rows:
    """Read all rows but those of logs and sessions."""
    rows = Rows({}, {}, {})
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        for (table,) in tables.fetchall():
            if table not in BESIDE and not table.startswith("sqlite_"):
                _read_table(connection, table, rows)
    return rows


def _read_table(connection: sqlite3.Connection, table: str, rows: Rows) -> None:
    keys = {row[3]: row[2] for row in connection.execute(f"PRAGMA foreign_key_list('{table}')")}
    facts = list(connection.execute(f"PRAGMA table_info('{table}')"))
    names = [fact[1] for fact in facts]
    primary = next((place for place, fact in enumerate(facts) if fact[5]), 0)
    for row in connection.execute(f'SELECT * FROM "{table}"'):
        key = (table, row[primary])
        told = [value for name, value in zip(names, row, strict=True) if name not in UNCOUNTED]
        rows.digests[key] = hashlib.sha256(repr(told).encode()).hexdigest()
        by_name = dict(zip(names, row, strict=True))
        rows.references[key] = tuple((other, by_name[name]) for name, other in keys.items())
        if table == "reviews_historicalentry":  # which keeps the number of its entry, and no key
            rows.references[key] += (("reviews_entry", by_name["id"]),)
        if "owner_id" in by_name:
            rows.owners[key] = by_name["owner_id"]


def forbidden(before: Rows, after: Rows, may_change: set[Key], owners: set[int]) -> Counter[str]:
    """Count what was changed, removed or given to others, by the table.

    Args:
        may_change: the rows from before that the role may change or remove.
        owners: the people and teams to whom it may give new rows.
    """
    found: Counter[str] = Counter()
    for key, digest in before.digests.items():
        if key not in may_change and after.digests.get(key) != digest:
            found[f"{key[0]} {key[1]} {'changed' if key in after.digests else 'removed'}"] += 1
    for key, owner in after.owners.items():
        if key not in before.digests and owner not in owners:
            found[f"{key[0]} {key[1]} added for {owner}"] += 1
    return found


def added(before: Rows, after: Rows) -> Counter[str]:
    """Count the new rows by their table."""
    return Counter(table for table, _ in after.digests.keys() - before.digests.keys())
