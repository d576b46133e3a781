"""What the executors of a cluster must have."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from tasks.spark.configuration import REPOSITORY
from tasks.spark.executors import NEEDED
from tasks.spark.session import shipped_files

OURS_OR_SPARK = {"pyspark", "py4j", "snapshots", "tasks"}
OF_THE_DRIVER = {"django", "redis"}


def test_the_packages_that_shipped_code_imports_are_asked_for():
    found = {name.partition(".")[0] for path in shipped_files() for name in imported(path)}
    assert found - OURS_OR_SPARK - OF_THE_DRIVER - sys.stdlib_module_names <= set(NEEDED)


def test_all_of_ours_that_shipped_code_imports_is_shipped():
    shipped = {module_of(path) for path in shipped_files()} | {"snapshots", "tasks"}
    for path in shipped_files():
        ours = {name for name in imported(path) if name.partition(".")[0] in ("snapshots", "tasks")}
        assert not {name for name in ours if is_module(name)} - shipped, path


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__")


def is_module(name: str) -> bool:
    path = REPOSITORY / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file()


def imported(path: Path) -> Iterator[str]:
    """Yield the modules that a module imports, and what it imports from them."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
