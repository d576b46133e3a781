"""The checker of exported documents under Node, for tests in Python."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.conftest import skip_or_fail
from tests.stack import ROOT
from webapp import machine


class Checker:
    """A running process that derives the claims of one document after the other."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def checked(self, document: dict[str, Any]) -> list[dict[str, Any]]:
        """Return what the checker says of each claim of a document."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(document).encode() + b"\n")
        self._process.stdin.flush()
        answer: list[dict[str, Any]] = json.loads(self._process.stdout.readline())
        return answer


@contextmanager
def a_checker() -> Iterator[Checker]:
    """Start the checker, and end it with the block."""
    node = machine.find_node()
    if node is None:
        skip_or_fail("Node is missing: make test gets it or says how.")
    command = [str(node), str(ROOT / "tests" / "js" / "check_claims.js")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield Checker(process)
        assert process.stdin
        process.stdin.close()
