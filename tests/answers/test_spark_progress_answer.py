"""Progress reports of Spark without a checkpoint: in any JSON, and out of event logs.

tests/data/spark-progress holds an event log that PySpark 4.3.0 wrote, of a query with two batches.
"""

import json
import pprint
import re
import struct
from pathlib import Path

import pyarrow as pa
import pytest

from snapshots.answers.first_answer import of_inventory
from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.model.defects import InputRefused
from snapshots.domain.model.derived import is_derived
from snapshots.readers.engines import registry
from snapshots.readers.engines.spark_streaming.adapter.reader import SparkStreamingReader
from snapshots.readers.engines.spark_streaming.state.blocks import checksum
from snapshots.store.inventory.reading import StoredInventory
from snapshots.store.inventory.writing import write_inventory
from tests.readers.mutated import mutated

EVENTS = Path(__file__).parents[1] / "data/spark-progress/events_1_local-1795885948752.zstd"
EPOCH = "1970-01-01T00:00:00.000Z"


def a_report(batch: int, *, query: str = "q", rows: int = 10, total: int = 7, **fields) -> dict:
    return {
        "id": query, "runId": "r", "name": None, "batchId": batch, "numInputRows": rows,
        "timestamp": f"2026-06-10T00:0{batch % 10}:00.000Z",
        "inputRowsPerSecond": 1.0, "processedRowsPerSecond": 2.0,
        "durationMs": {"addBatch": 20, "triggerExecution": 25 + batch},
        "stateOperators": [{"operatorName": "dedupe", "numRowsTotal": total}],
        "sources": [], "sink": {"description": "x"}, **fields,
    }  # fmt: skip


def opened(tmp_path, files: dict[str, str | bytes]):
    folder = tmp_path / "files"
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)
    found = registry.recognise(folder, tuple(sorted(files)), registry.PACKAGE)
    return found.reader.read(folder)


def answered(tmp_path, files: dict[str, str | bytes]) -> list[list[tuple[str, str]]]:
    (tmp_path / "store").mkdir()
    write_inventory(tmp_path / "store", opened(tmp_path, files))
    answer = of_inventory(StoredInventory(tmp_path / "store"))
    return [[(item.level, item.text) for item in one.sentences] for one in answer.subjects]


REPORTS = [a_report(batch) for batch in range(3)]
WRAPPED = [{"env": "prod", "query_progress": one} for one in REPORTS]
PASTED = [
    "\n".join(map(repr, REPORTS)),
    repr(REPORTS),
    ">>> query.recentProgress\n" + pprint.pformat(REPORTS) + "\n>>> exit()\n",
    "In [7]: query.recentProgress\nOut[7]: " + pprint.pformat(REPORTS),
    "```json\n" + json.dumps(REPORTS, indent=2) + "\n```\n",
    re.sub(r"(\n *[}\]])", r",\1", json.dumps(REPORTS, indent=2)),
    re.sub('"([^"]*)"', "“\\1”", json.dumps(REPORTS)),
    json.dumps(REPORTS, indent=2).encode("utf-16"),
    "\n".join(map(json.dumps, WRAPPED)),
    "\n".join(json.dumps({"progress": one}) for one in REPORTS),
    "\n".join(json.dumps({"event": json.dumps(one)}) for one in REPORTS),
]
"""Reports as a shell, a notebook, a chat, PowerShell or a listener gives them."""


@pytest.mark.parametrize(
    "data",
    [
        "\n".join(map(json.dumps, REPORTS)),
        json.dumps(REPORTS),
        json.dumps(REPORTS, indent=2),
        "\n".join(json.dumps(one, indent=2) for one in REPORTS),
        ",\n".join(json.dumps(one, indent=4) for one in REPORTS),
        "".join(map(json.dumps, REPORTS)),
        json.dumps(REPORTS[:2]) + "\n" + json.dumps(REPORTS[2:]),
        *PASTED,
    ],
)
@pytest.mark.parametrize("name", ["progress.jsonl", "pasted", "deep/down/in/a.log"])
def test_reports_are_read_in_any_layout_and_under_any_name(tmp_path, data, name):
    (sentences,) = answered(tmp_path, {name: data})
    assert sentences[0] == (
        "well",
        "3 progress reports of the query, the last one of batch 2 (2026-06-10 00:02:00.000 UTC): "
        "these had 30 rows.",
    )
    assert sentences[-1][0] == "not-known"
    assert "whether a restart can go on are not known" in sentences[-1][1]


def lines(reports: list[dict]) -> dict[str, str]:
    return {"progress": "\n".join(map(json.dumps, reports))}


def test_a_watermark_of_1970_and_a_growing_state_come_first(tmp_path):
    reports = [
        a_report(batch, total=1000 * (batch + 1), eventTime={"watermark": EPOCH})
        for batch in range(3)
    ]
    (sentences,) = answered(tmp_path, lines(reports))
    assert [level for level, _ in sentences[:3]] == ["watch", "watch", "fact"]
    assert "The watermark stands at 1970-01-01 in all 3 batches" in sentences[0][1]
    assert sentences[1][1].endswith("has 3,000 rows. It grows with every batch, by 1,000 rows.")


def test_a_watermark_that_moves_and_a_state_that_stays_are_no_trouble(tmp_path):
    reports = [
        a_report(batch, eventTime={"watermark": f"2026-06-10T00:0{batch}:00.000Z"})
        for batch in range(4)
    ]
    (sentences,) = answered(tmp_path, lines(reports))
    assert "watch" not in [level for level, _ in sentences]


def test_rows_that_come_faster_than_they_are_processed_are_told(tmp_path):
    reports = [a_report(batch, inputRowsPerSecond=500.0) for batch in range(4)]
    (sentences,) = answered(tmp_path, lines(reports))
    assert sentences[0] == (
        "watch",
        "In 4 of 4 batches rows came faster than they were processed; in the last of these 500 "
        "came and 2 were processed a second.",
    )


def test_a_query_to_which_nothing_comes_any_more_is_told(tmp_path):
    idle = [a_report(3, rows=0, durationMs={"latestOffset": 3, "triggerExecution": 4})] * 5
    (sentences,) = answered(tmp_path, lines([*REPORTS, *idle]))
    assert sentences[0] == ("watch", "The last 5 reports ran no batch: no new data came.")


def test_each_query_has_an_answer_of_its_own(tmp_path):
    assert len(answered(tmp_path, lines([*REPORTS, a_report(0, query="other")]))) == 2


def plain_events() -> bytes:
    with pa.input_stream(EVENTS, compression="zstd") as stream:
        return stream.read()


def in_lz4(data: bytes) -> bytes:
    """Compress as Spark does with lz4: in blocks of 32 KiB with headers, the last one empty."""
    head, codec, parts = struct.Struct("<8sBIII"), pa.Codec("lz4_raw"), []
    for at in range(0, len(data), 2**15):
        piece = data[at : at + 2**15]
        block = codec.compress(piece, asbytes=True)
        parts += [head.pack(b"LZ4Block", 0x25, len(block), len(piece), checksum(piece)), block]
    return b"".join([*parts, head.pack(b"LZ4Block", 0x15, 0, 0, 0)])


def in_snappy(data: bytes) -> bytes:
    """Compress as Spark does with snappy: a mark, two versions, and blocks of 32 KiB."""
    codec, parts = pa.Codec("snappy"), [b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)]
    for at in range(0, len(data), 2**15):
        block = codec.compress(data[at : at + 2**15], asbytes=True)
        parts += [struct.pack(">i", len(block)), block]
    return b"".join(parts)


def in_lzf(data: bytes) -> bytes:
    """Write chunks of LZF that are not compressed, as Spark does with what does not shrink."""
    pieces = (data[at : at + 2**15] for at in range(0, len(data), 2**15))
    return b"".join(b"ZV\0" + struct.pack(">H", len(piece)) + piece for piece in pieces)


FORMS = {"plain": bytes, "lz4": in_lz4, "snappy": in_snappy, "lzf": in_lzf}


@pytest.mark.parametrize("form", ["zstd", *FORMS])
def test_an_event_log_of_spark_gives_its_reports(tmp_path, form):
    data = FORMS[form](plain_events()) if form in FORMS else EVENTS.read_bytes()
    (sentences,) = answered(tmp_path, {f"eventlog_v2_local-1/events_1_local-1.{form}": data})
    texts = [text for _, text in sentences]
    assert texts[0] == "The query was stopped; no exception ended it."
    assert texts[1].startswith("2 progress reports of the query, the last one of batch 1")


def test_the_exception_that_ended_a_query_comes_first(tmp_path):
    data = plain_events().replace(b'"exception":null', b'"exception":"boom: no space\\n at x"')
    (sentences,) = answered(tmp_path, {"application_1_0001": data})
    assert sentences[0] == ("wrong", "The query ended with an exception: “boom: no space”.")
    assert "well" not in [level for level, _ in sentences]


def test_a_pasted_report_that_is_cut_off_is_refused_with_the_place(tmp_path):
    with pytest.raises(InputRefused, match="ends too early.*At character 295, .*it ends"):
        opened(tmp_path, {"out.txt": repr(REPORTS[0])[:300].rpartition(",")[0]})


def test_an_event_log_without_a_streaming_query_is_refused_as_one(tmp_path):
    with pytest.raises(InputRefused, match="no streaming query ended a batch"):
        opened(tmp_path, {"local-1": '{"Event":"SparkListenerLogStart","Spark Version":"3.5.1"}\n'})


def test_the_derived_recording_has_an_event_for_each_batch(tmp_path):
    header, events = opened(tmp_path, lines(REPORTS)).recording()
    logged = list(events)
    assert {event.snapshot for event in logged if event.snapshot} == {"0", "1", "2"}
    assert assemble(header, logged).defects_total == 0
    assert is_derived(header.extra)


def test_no_mutated_report_crashes(tmp_path):
    seeds = [json.dumps(REPORTS, indent=1).encode(), EVENTS.read_bytes(), in_lz4(plain_events())]
    seeds += [one.encode() if isinstance(one, str) else one for one in PASTED]
    for number, data in enumerate(mutated(seeds, 150)):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "progress.json").write_bytes(data)
        try:
            upload = SparkStreamingReader().read(folder)
        except InputRefused:
            continue
        list(upload.entries())
        upload.inventory()
        upload.restore_check()
        list(upload.recording()[1])
