"""Damaged keyed state in every layout gives entries and notes, and every search ends."""

import tracemalloc
from json import dumps

import pytest

from snapshots.readers.engines.flink.files import Missing
from snapshots.readers.engines.flink.handles import Inline
from snapshots.readers.engines.flink.keyed.entries import KINDS, Limits
from snapshots.readers.engines.flink.keyed.keyed_state import read_keyed
from snapshots.readers.engines.flink.metadata import read_metadata
from snapshots.readers.formats.cursor import Malformed
from snapshots.readers.formats.opaque import Opaque
from tests.readers.engines.flink.cases import load
from tests.readers.engines.flink.keyed import parts
from tests.readers.mutated import MANY, mutated

LIMITS = Limits(
    inflated_bytes=2**24, table_bytes=2**24, block_bytes=2**20, value_bytes=2**20,
    searched_bytes=20_000,
)  # fmt: skip
LAYOUTS = {
    "heap": "types",
    "heap, compressed": "compressed-orders",
    "heap, windows and timers": "windows-timers",
    "heap, SQL rows": "sql-group-agg",
    "full": "savepoint-canonical",
    "full, SQL rows with time-to-live": "flink1.18-sql-join",
    "tables": "rocksdb-incremental",
    "tables of ForSt": "forst-async-state",
    "changelog": "changelog-files",
}


def checked(state):
    """Read all entries and check what holds for each of them."""
    count = 0
    for entry in state.entries:
        count += 1
        assert entry.kind in KINDS
        assert entry.size >= 0
        for value in (entry.key, entry.value, entry.namespace):
            if isinstance(value, Opaque):
                assert value.reason.endswith((".", "?"))
            else:
                dumps(value, allow_nan=False).encode()
    for sentence in state.notes.sentences:
        assert sentence.endswith(".")
    return count


@pytest.mark.parametrize("layout", LAYOUTS)
def test_damaged_streams_give_entries_and_notes(shared_data, layout):
    case = [part for part in parts(shared_data, LAYOUTS[layout]) if part.entries][:8]
    streams = {id(part): [] for part in case}
    for part in case:

        def noting(stream, part=part):
            streams[id(part)].append(stream)
            return part.read(stream)

        checked(read_keyed(part.handle, noting, part.operator.max_parallelism))
    seeds = [
        (part, stream, bytes(part.read(stream)))
        for part in case
        for stream in dict.fromkeys(streams[id(part)])
    ]
    complete = entry_count = 0
    each = MANY // len(LAYOUTS) + 1
    for number, data in enumerate(mutated([data for *_, data in seeds], each)):
        part, damaged, _ = seeds[number % len(seeds)]

        def read(stream, part=part, damaged=damaged, data=data):
            return data if stream == damaged else part.read(stream)

        state = read_keyed(part.handle, read, part.operator.max_parallelism, LIMITS)
        entry_count += checked(state)
        complete += state.notes.complete
    assert entry_count > 0
    assert complete < each


def test_damaged_metadata_gives_entries_and_notes(shared_data):
    names = ("aligned-hashmap-inline", "savepoint-canonical", "rocksdb-full", "changelog")
    seeds = []
    for name in names:
        case = load(shared_data, name)
        _, stored = case.snapshots()[-1]
        seeds.append((case.folder / stored.path).read_bytes())
    read_ones = 0
    for data in mutated(seeds, MANY // 2):
        try:
            metadata = read_metadata(data)
        except Malformed:
            continue
        for operator in metadata.operators:
            for subtask in operator.subtasks:
                if subtask.managed_keyed is not None:
                    state = read_keyed(
                        subtask.managed_keyed, _inline, operator.max_parallelism, LIMITS
                    )
                    checked(state)
                    read_ones += 1
    assert read_ones > 0


def _inline(stream):
    return stream.data if isinstance(stream, Inline) else Missing("gone", stream.size, "No.")


def test_little_memory_is_taken_for_damaged_streams(shared_data):
    part = max(parts(shared_data, "compressed-orders"), key=lambda part: len(part.entries))
    data = bytes(part.read(part.handle.stream))
    tracemalloc.start()
    try:
        for damaged in mutated([data], 40):
            state = read_keyed(
                part.handle, lambda stream, d=damaged: d, part.operator.max_parallelism, LIMITS
            )
            checked(state)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * 2**20
