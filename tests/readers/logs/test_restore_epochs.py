"""The epoch of a restore in an upload."""

import json

import pytest

from snapshots.domain.model.defects import Defect, Defects, InputRefused
from snapshots.readers import recognition
from snapshots.readers.formats.limits import Limits

HEADER = {
    "kind": "header",
    "format": "cutline",
    "version": 1,
    "name": "",
    "time_unit": "us",
    "processes": [{"id": "p"}],
    "channels": [],
}


@pytest.mark.parametrize(
    ("epoch", "codes"),
    [
        (0, []),
        (None, []),
        (-1, ["number-range"]),
        ("1", ["wrong-type"]),
        (1.0, []),
        (1.5, ["wrong-type"]),
        (True, ["wrong-type"]),
    ],
)
def test_an_epoch_that_is_no_whole_number_is_refused_with_its_line(tmp_path, epoch, codes):
    event = {"kind": "restore", "process": "p", "epoch": epoch}
    source = tmp_path / "log.jsonl"
    source.write_text(f"{json.dumps(HEADER)}\n{json.dumps(event)}\n")
    reader = recognition.sniff(source, Limits()).reader
    header = reader.header(source, Limits())
    defects: tuple[Defect, ...] = ()
    try:
        list(recognition.events(reader, source, header, Limits(), Defects()))
    except InputRefused as refused:
        defects = refused.defects
    found = [(item.code, item.line, item.field) for item in defects]
    assert found == [(code, 2, "epoch") for code in codes]
