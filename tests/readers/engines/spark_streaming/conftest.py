"""What the tests of Spark's uploads share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.readers.engines.spark_streaming.cases import unpack


@pytest.fixture
def case(shared_data, tmp_path) -> Callable[[str], Path]:
    """Give a function that unpacks a case and returns its folder."""
    return lambda name: unpack(shared_data / "spark-streaming" / f"{name}.zip", tmp_path)[0]
