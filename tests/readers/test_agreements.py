"""The table of docs/formats.md is what the readers do today."""

from pathlib import Path

import pytest

from tests.readers import agreements

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "formats.md"


@pytest.mark.slow
def test_the_documented_table_is_true(shared_data):
    assert agreements.table(shared_data) in DOCUMENT.read_text()
