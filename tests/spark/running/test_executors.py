"""What the executors of a cluster must have."""

import ast
import sys
from collections.abc import Iterator

from tasks.spark.configuration import REPOSITORY
from tasks.spark.executors import NEEDED
from tasks.spark.session import SHIPPED

OURS_OR_SPARK = {"pyspark", "py4j", "snapshots", "tasks"}
OF_THE_DRIVER = {"django", "redis"}


def test_the_packages_that_shipped_code_imports_are_asked_for():
    found = {name for folder in SHIPPED for name in imported(folder)}
    assert found - OURS_OR_SPARK - OF_THE_DRIVER - sys.stdlib_module_names <= set(NEEDED)


def imported(folder: str) -> Iterator[str]:
    """Yield the packages that the modules of a folder import."""
    for path in (REPOSITORY / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                yield (node.module or "").partition(".")[0]
