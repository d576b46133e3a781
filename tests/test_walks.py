"""The programs of docs/walks.md leave what the page says of them."""

import io
import json
import subprocess
import sys

import pytest
from django.core.management import CommandError, call_command

from tests.stack import ROOT


def test_the_shops_take_two_consistent_snapshots_and_one_against_the_rule(tmp_path):
    """Whether Wien records before or after it gets the delivery depends on the network."""
    log, printed = tmp_path / "shops.jsonl", io.StringIO()
    with log.open("wb") as file:
        subprocess.run([sys.executable, ROOT / "bench/walks/shops.py"], stdout=file, check=True)
    with pytest.raises((SystemExit, CommandError)):
        call_command("check_snapshots", log, json=True, stdout=printed)
    reports = {one["snapshot"]: one for one in json.loads(printed.getvalue())["snapshots"]}
    assert sorted(reports) == ["snapshot-1", "snapshot-2", "snapshot-3"]
    assert reports["snapshot-1"]["verdict"] == reports["snapshot-3"]["verdict"] == "consistent"
    broken = {one["verdict"]: one["sentence"] for one in reports["snapshot-2"]["verdicts"]}
    assert broken.keys() <= {"orphan", "duplicated", "marker-rule"}
    assert "Oslo sent" in broken["marker-rule"]
    assert "before its marker on Oslo->Wien" in broken["marker-rule"]
