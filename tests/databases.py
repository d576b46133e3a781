"""On which database `make test` runs a quick test with rows: half of them on each.

`make test-fast` and `make test-postgres` run them all on one database. Further cases of a test, and
all that starts processes, run on SQLite.
"""

from fnmatch import fnmatch
from functools import cache
from zlib import crc32

import pytest

from tests import postgres

WITH_ROWS = tuple(
    f"tests/{room}/" for room in ("archive", "files", "jobs", "services", "web", "webapp")
)
OF_FILES = (
    *("every_*", "flink_not_known*", "guide*", "reflected*", "inventory*", "restore_*", "upgrade*"),
    *("proof*", "quantities*", "outcomes*", "engine_*", "dataflows*", "smallest_part*"),
    *("channel_counts*", "bisect*", "openapi*", "reference*", "access.py", "markdown*"),
    *("static_files*", "launcher*", "settings*", "simulat*", "compression*"),
)
"""Tests of what stands in files and texts, which ask the database nothing of their own."""
ELSEWHERE = ("spark", "browser", "slow", "long")


def skip_elsewhere(items: list[pytest.Item]) -> None:
    """Skip the tests that mean something on the other database alone."""
    for item in items:
        only = item.get_closest_marker("only")
        if only is not None and (only.args[0] == "postgres") != postgres.IS_CHOSEN:
            item.add_marker(pytest.mark.skip(reason=only.kwargs["reason"]))


def keep_half(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests whose turn is on the other database."""
    first_cases = list({_function(item): item for item in reversed(items)}.values())
    theirs = {item for item in first_cases if _asks_rows(item) and _is_on_postgres(item)}
    ours, others = [], []
    for item in items:
        (ours if (item in theirs) == postgres.IS_CHOSEN else others).append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = ours


@cache
def is_left_out(path: str) -> bool:
    """Return whether a file has no test for PostgreSQL. ``path`` is within the repository."""
    name = path.rpartition("/")[2].removeprefix("test_")
    return not path.startswith(WITH_ROWS) or any(fnmatch(name, each) for each in OF_FILES)


def _asks_rows(item: pytest.Item) -> bool:
    if is_left_out(item.nodeid.partition("::")[0]):
        return False
    return not any(item.get_closest_marker(name) for name in ELSEWHERE)


def _is_on_postgres(item: pytest.Item) -> bool:
    """Choose by the name, so that each process chooses the same ones, unless only one will do."""
    if only := item.get_closest_marker("only"):
        return only.args[0] == "postgres"
    return crc32(_function(item).encode()) % 2 == 0


def _function(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]
