"""Damaged copies of a real checkpoint are answered as the table of the document says."""

import re
import shutil
from pathlib import Path

import pytest
from django.conf import settings

from tests.readers.engines.spark_streaming.damaged_copies import DAMAGES, Copy, answer_about

DOCUMENT = Path(settings.BASE_DIR) / "docs" / "formats" / "completeness.md"
ROW = re.compile(r"^\| (.+?) \| (.+?) \| (restorable|not restorable|not known) \|$", re.MULTILINE)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.title)
def test_damaged_copies_are_answered_as_the_table_says(case, tmp_path, damage):
    original = case("purged-history") / "checkpoint"
    for number, change in enumerate(damage.changes):
        copy = Copy(shutil.copytree(original, tmp_path / str(number)))
        change(copy)
        assert answer_about(copy.root) == damage.answer, number


def test_the_document_has_every_damage_with_what_spark_did():
    rows = [(title, did, answer.replace(" ", "-")) for title, did, answer in _rows()]
    assert rows == [(damage.title, damage.did, damage.answer) for damage in DAMAGES]


def _rows() -> list[tuple[str, ...]]:
    table = DOCUMENT.read_text().partition("| what Spark did |")[2].partition("\n## ")[0]
    return ROW.findall(table)
