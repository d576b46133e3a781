"""Keep PySpark from loading pandas, which none of our functions use: half a second, and 27 MB."""

from typing import Any

from pyspark.sql.pandas import functions

from snapshots.without_pandas import pandas_kept_out


def spare_pandas() -> None:
    """Load what PySpark loads with its first calls, without pandas.

    Its first call of Java imports its tools for tests, which look for pandas. For a function of
    Arrow, as for one of pandas, it checks which version of pandas there is.
    """
    module: Any = functions
    module.require_minimum_pandas_version = lambda: None
    with pandas_kept_out():
        import pyspark.testing.utils  # noqa: F401
