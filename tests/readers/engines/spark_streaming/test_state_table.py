"""The table of Spark's state in docs/formats/agreement.md is what the files give today."""

from tests.readers.agreements import DOCUMENT
from tests.readers.engines.spark_streaming import state_table


def test_the_documented_share_of_decoded_state_is_true(shared_data):
    assert state_table.table(shared_data) in DOCUMENT.read_text()
