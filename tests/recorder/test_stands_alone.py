"""The recorder runs in services of others: it needs nothing but the standard library."""

import ast
import sys
from pathlib import Path

import pytest

import snapshots.recorder

MODULES = sorted(Path(snapshots.recorder.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_module_imports_only_the_standard_library_and_its_neighbours(path):
    tree = ast.parse(path.read_text(), feature_version=(3, 9))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            assert {name.name.split(".")[0] for name in node.names} <= sys.stdlib_module_names
        elif isinstance(node, ast.ImportFrom):
            assert node.level <= 1
            assert node.level == 1 or node.module.split(".")[0] in sys.stdlib_module_names
