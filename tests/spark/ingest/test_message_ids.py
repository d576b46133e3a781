"""Ids of messages are compared as numbers, whichever way the parts of the events hold them."""

import numpy as np
import pyarrow as pa
import pytest

from snapshots.store.decoding import StoredPart
from snapshots.store.encoding import encode
from tasks.spark.ingest.message_ids import message_ids

IDS = pa.schema([("message", pa.large_string())])


def part_of(folder, ids: list[str | None]) -> StoredPart:
    rows = pa.table({"message": pa.array(ids, pa.large_string())})
    return StoredPart(folder / "events" / "part.arrow", encode(rows, IDS))


@pytest.mark.parametrize(
    "parts",
    [
        (["m5", "m7", None], ["m7", "m5"]),
        (["5", "-7", None], ["-7", "5"]),
        (["m5", "m7", None], ["n7", "m5"]),
        (["a", "b", None], ["b", "m5"]),
        ([str(2**62), str(-(2**62)), None], ["1", "1"]),
        ([],),
        (),
    ],
)
def test_equal_ids_have_equal_codes_in_any_order(parts, tmp_path):
    ids = [text for part in parts for text in part]
    events = [(part_of(tmp_path, part), np.arange(len(part))) for part in parts]
    order = np.arange(len(ids))[::-1]
    found = message_ids(events, order)
    ordered = ids[::-1]
    assert found.texts(np.arange(len(ids))).to_pylist() == ordered
    for text, code in zip(ordered, found.codes.tolist(), strict=True):
        assert code == -1 if text is None else code >= 0
    known = [text for text in ordered if text is not None]
    by_code = {code for code in found.codes.tolist() if code >= 0}
    assert len(by_code) == len(set(known))
    codes = found.codes_of(pa.array(known, pa.large_string())).tolist()
    assert codes == [code for code in found.codes.tolist() if code >= 0]


@pytest.mark.parametrize("texts", [["m5", "m6"], ["a", "b"]])
def test_a_text_that_is_no_id_has_no_code(texts, tmp_path):
    found = message_ids([(part_of(tmp_path, texts), np.arange(2))], np.arange(2))
    strange = pa.array(["m4", "m7", "m05", "x", "", "m99999999999999999999"], pa.large_string())
    assert found.codes_of(strange).tolist() == [-1] * 6
