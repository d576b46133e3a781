"""One standalone cluster for several tests, since it takes long to start."""

import pytest

from tests.spark.running.cluster import Standalone


@pytest.fixture(scope="package")
def standalone_spark(tmp_path_factory):
    """Return a cluster whose cores are free. Whoever ends a part of it must start it again."""
    with Standalone(tmp_path_factory.mktemp("spark")) as cluster:
        yield cluster
