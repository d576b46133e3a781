"""Runs the JavaScript's own tests, tests/js/*.test.js, under Node, and measures its lines."""

import subprocess

from tests import effort
from tests.conftest import skip_or_fail
from tests.stack import ROOT
from webapp import machine

# A process for each file is what takes the time.
IN_ONE_PROCESS = "for (const file of process.argv.slice(1)) await import(file)"


LONGEST_LINE = 120


def test_no_line_of_the_javascript_is_too_long():
    files = [*(ROOT / "static/js").rglob("*.[jt]s"), *(ROOT / "tests/js").glob("*.js")]
    assert len(files) > 90
    lines = ((file, n, line) for file in files for n, line in enumerate(file.open(), 1))
    too_long = [
        f"{file.relative_to(ROOT)}:{n}"
        for file, n, line in lines
        if len(line.rstrip()) > LONGEST_LINE
    ]
    assert not too_long


def test_the_javascript_tests_pass():
    node = machine.find_node()
    if node is None:
        skip_or_fail("Node is missing: make test gets it or says how.")
    files = sorted(str(path) for path in (ROOT / "tests" / "js").glob("*.test.js"))
    assert files, "there are no files tests/js/*.test.js"
    how = ["--input-type=module", "--eval", IN_ONE_PROCESS] if effort.FAST else ["--test"]
    ran = subprocess.run([node, *how, *files], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
