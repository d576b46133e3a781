"""Keep pandas out of processes that never need it.

pyarrow imports pandas with the first array that it makes, to recognise the arrays of pandas. That
takes 22 MB of each process, and a quarter of a second of its start.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder

import pyarrow as pa


class _NoPandas(MetaPathFinder):
    """Finds that there is no pandas."""

    def find_spec(self, name: str, path: object, target: object = None) -> None:
        """Raise ModuleNotFoundError for pandas; another finder answers for anything else."""
        if name == "pandas":
            raise ModuleNotFoundError("pandas is kept out", name=name)


@contextmanager
def pandas_kept_out() -> Iterator[None]:
    """Let what is imported in the block find no pandas. Others may import it later."""
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def keep_pandas_out() -> None:
    """Let pyarrow look for pandas and find none: it looks once. Others may import it later.

    In a process that has imported pandas already, nothing changes.
    """
    with pandas_kept_out():
        pa.array([])
