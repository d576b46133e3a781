"""Each test runs on one of the two databases, and neither has only few of them."""

from types import SimpleNamespace

import pytest

from tests import databases, postgres

FILES = ("jobs/test_a.py", "web/api/test_b.py", "web/pages/test_proof.py", "store/test_c.py")
NAMES = [f"tests/{file}::test_{number}" for file in FILES for number in range(40)]
WITH_CASES = [f"{name}[{case}]" for name in NAMES for case in "ab"]


class Item:
    def __init__(self, nodeid: str, *markers: str) -> None:
        self.nodeid = nodeid
        self._markers = markers

    def get_closest_marker(self, name: str):
        only = pytest.mark.only("sqlite", reason="It has no server.").mark
        return (only if name == "only" else True) if name in self._markers else None


@pytest.fixture
def kept(monkeypatch):
    """Return a function that tells which tests run on a database."""
    config = SimpleNamespace(hook=SimpleNamespace(pytest_deselected=lambda items: None))

    def keep(*, on_postgres: bool, ids=NAMES, markers=()) -> set[str]:
        monkeypatch.setattr(postgres, "IS_CHOSEN", on_postgres)
        items = [Item(each, *markers) for each in ids]
        databases.keep_half(config, items)
        return {item.nodeid for item in items}

    return keep


def test_each_test_runs_once_and_about_half_of_those_with_rows_on_postgres(kept):
    here, there = kept(on_postgres=False), kept(on_postgres=True)
    assert here | there == set(NAMES)
    assert not here & there
    assert {name.partition("::")[0] for name in there} == {f"tests/{each}" for each in FILES[:2]}
    assert 25 < len(there) < 55


def test_further_cases_run_on_sqlite(kept):
    here, there = (kept(on_postgres=each, ids=WITH_CASES) for each in (False, True))
    assert here | there == set(WITH_CASES)
    assert not here & there
    assert {name[-2] for name in there} == {"a"}


@pytest.mark.parametrize("marker", databases.ELSEWHERE)
def test_what_starts_processes_runs_on_sqlite(kept, marker):
    assert kept(on_postgres=False, markers=[marker]) == set(NAMES)
    assert not kept(on_postgres=True, markers=[marker])


def test_what_means_something_on_one_database_runs_there(kept):
    assert kept(on_postgres=False, markers=["only"]) == set(NAMES)
    assert not kept(on_postgres=True, markers=["only"])
