"""The table of docs/formats/agreement.md is what the readers do today."""

import pytest

from tests.readers import agreements


@pytest.mark.slow
def test_the_documented_table_is_true(shared_data):
    assert agreements.table(shared_data) in agreements.DOCUMENT.read_text()


def test_every_case_is_documented_at_both_levels(shared_data):
    for case, found in agreements.documented().items():
        for compared, agreed in (found.by_reader, found.by_api):
            assert compared >= agreed > 0, case
    assert len(agreements.documented()) == 33 + 30 + 3 + 5
