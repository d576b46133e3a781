"""Runs the JavaScript's own tests, tests/js/*.test.js, under Node."""

import subprocess

from tests import effort
from tests.conftest import skip_or_fail
from tests.stack import ROOT
from webapp import machine

# A process for each file is what takes the time.
IN_ONE_PROCESS = "for (const file of process.argv.slice(1)) await import(file)"


def test_the_javascript_tests_pass():
    node = machine.find_node()
    if node is None:
        skip_or_fail("Node is missing: make test gets it or says how.")
    files = sorted(str(path) for path in (ROOT / "tests" / "js").glob("*.test.js"))
    assert files, "there are no files tests/js/*.test.js"
    how = ["--input-type=module", "--eval", IN_ONE_PROCESS] if effort.FAST else ["--test"]
    ran = subprocess.run([node, *how, *files], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
