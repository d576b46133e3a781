"""What people upload is never unpickled, deserialised to objects, or evaluated."""

import ast
from pathlib import Path

import pytest

from tests.stack import ROOT

MODULES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in ("snapshots", "tasks", "webapp")
    for path in (ROOT / folder).rglob("*.py")
)
LOADERS = {
    "_pickle", "cloudpickle", "copyreg", "dill", "javaobj", "joblib", "jsonpickle", "marshal",
    "pickle", "shelve", "yaml",
}  # fmt: skip
EVALUATING = {"eval", "exec", "compile", "__import__"}
METHODS = {"eval", "exec", "read_pickle", "unsafe_load", "full_load"}
OWN = {
    "tasks/spark/stages.py": {"pickle"},  # what Cutline's own kernels return
    "tasks/spark/ingest/job.py": {"pickle"},  # a header that it has checked, and
    "tasks/spark/ingest/parse.py": {"pickle"},  # that its own workers read again
    "snapshots/domain/conditions/expressions.py": {"copyreg", "eval"},  # CEL, which calls nothing
}


def used(source: str) -> set[str]:
    """Return the loaders and evaluators that a module imports or calls."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names} & LOADERS
        elif isinstance(node, ast.ImportFrom):
            found |= {(node.module or "").split(".")[0]} & LOADERS
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found |= {node.func.id} & EVALUATING
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            found |= {node.func.attr} & METHODS
        elif isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            found.add("allow_pickle")
    return found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import pickle", {"pickle"}),
        ("from yaml import load", {"yaml"}),
        ("import marshal as m", {"marshal"}),
        ("eval(text)", {"eval"}),
        ("frame.eval(text)", {"eval"}),
        ("np.load(file, allow_pickle=True)", {"allow_pickle"}),
        ("re.compile(text)", set()),
    ],
)
def test_a_loader_is_seen(source, found):
    assert used(source) == found


def test_no_module_loads_objects_or_evaluates_text_but_those_that_say_why():
    found = {path: used(Path(ROOT / path).read_text()) for path in MODULES}

    assert {path: names for path, names in found.items() if names} == OWN
