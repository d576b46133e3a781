"""Which cases of a table `make test` runs each time. The others are for `make test-long`.

The readers are compared with every real case each time (tests/readers/test_agreements.py). Above
them, a case goes either through the API or through the pages each time, and through both in the
long run. Here stand the cases of the API; those of ``BOTH`` go through the pages as well.
"""

from collections.abc import Collection, Iterable

import pytest

BY_API = {
    "flink": {
        *("aligned-hashmap-files", "aligned-hashmap-inline", "bank-unaligned", "changelog-files"),
        *("compressed-orders", "failures", "rescaled", "rocksdb-incremental", "two-pipelines"),
        *("types", "unaligned-orders", "v3-orders-rocksdb", "windows-timers"),
    },
    "spark": {
        *("commit-log-v3-sink-evolution", "continuous-rate-to-memory", "damaged-empty-commit"),
        *("damaged-missing-delta", "damaged-truncated-offset", "incident-partial-partitions"),
        *("incident-state-ahead", "offset-log-v2-named-sources", "plain-agg-rocksdb-v2"),
        *("purged-history", "session-window-hdfs", "spark35-window-agg-hdfs"),
        *("spark40-tws-pandas", "stateless-rate-to-json", "window-agg-rocksdb-changelog"),
    },
}
BOTH = {
    "flink": {"unaligned-orders"},
    "spark": {
        *("damaged-empty-commit", "incident-partial-partitions", "incident-state-ahead"),
        "spark40-tws-pandas",
    },
}


def by_api(engine: str, cases: Iterable[str]) -> list:
    """Return the cases of an engine, of which those that go through the pages alone are long."""
    return mostly_long(cases, BY_API[engine])


def by_pages(engine: str, cases: Collection[str]) -> list:
    """Return the cases of an engine, of which those that go through the API alone are long."""
    return mostly_long(cases, set(cases) - BY_API[engine] | BOTH[engine])


def mostly_long(cases: Iterable, each_time: Collection) -> list:
    """Return parameters for the cases, of which those that are not in ``each_time`` are long."""
    cases = list(cases)
    unknown = set(each_time) - set(cases)
    assert not unknown, f"no such cases: {unknown}"
    long = [pytest.mark.long]
    return [pytest.param(case, marks=[] if case in each_time else long) for case in cases]
