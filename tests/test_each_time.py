"""Whatever `make test` leaves to the long run, each real case is walked each time."""

from fnmatch import filter as filter_names

import pytest

from tests import databases, each_time
from tests.readers.engines.flink import cases as flink_cases
from tests.stack import ROOT
from tests.web.api.test_every_case_spark import CASES as SPARK

CASES = {"flink": [*flink_cases.CASES, *flink_cases.LEGACY], "spark": SPARK}


@pytest.mark.parametrize("engine", CASES)
def test_every_case_is_walked_each_time_by_the_api_or_by_the_pages(engine):
    chosen = each_time.by_api(engine, CASES[engine]) + each_time.by_pages(engine, CASES[engine])
    walked = {case.values[0] for case in chosen if not case.marks}
    assert walked == set(CASES[engine])


def test_what_is_left_out_on_postgresql_is_there():
    names = [path.name.removeprefix("test_") for path in (ROOT / "tests").rglob("test_*.py")]
    assert [each for each in databases.OF_FILES if not filter_names(names, each)] == []


def test_a_case_that_is_not_there_is_noticed():
    with pytest.raises(AssertionError, match="misspelt"):
        each_time.mostly_long(["spelt"], ["misspelt"])
