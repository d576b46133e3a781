"""Packed inputs: the same events, and no more memory or disk than the limits allow."""

import gzip
import tracemalloc

import pytest
import zstandard

from snapshots.domain.model.defects import InputRefused
from snapshots.readers.formats.compression import compression_of, spool
from snapshots.readers.formats.limits import Limits
from tests.readers.inputs import HEADER, RECEIVE, SEND, SMALL, read, source, text

LOG = text(HEADER, SEND, RECEIVE)
PACKED = {
    "gzip": gzip.compress(LOG),
    "gzip in two members": gzip.compress(LOG[:300]) + gzip.compress(LOG[300:]),
    "zstd": zstandard.compress(LOG),
    "zstd in two frames": zstandard.compress(LOG[:300]) + zstandard.compress(LOG[300:]),
}


def refusal(path, limits=SMALL):
    with pytest.raises(InputRefused) as caught:
        read(path, limits)
    return caught.value.defects[0]


@pytest.mark.parametrize("name", PACKED)
def test_a_packed_log_gives_the_events_of_the_plain_one(tmp_path, name):
    assert read(source(tmp_path, PACKED[name])) == read(source(tmp_path, LOG, "plain"))


@pytest.mark.parametrize("name", PACKED)
def test_compression_is_recognised_by_the_content_and_not_the_name(tmp_path, name):
    assert compression_of(source(tmp_path, PACKED[name], "log.txt")) == name.split()[0]
    assert compression_of(source(tmp_path, LOG, "log.gz")) is None


@pytest.mark.parametrize("name", ["gzip", "zstd"])
@pytest.mark.parametrize("kept", [5, 0.5, -1])
def test_a_packed_file_that_is_cut_short_is_refused(tmp_path, name, kept):
    data = PACKED[name]
    end = int(len(data) * kept) if isinstance(kept, float) else kept
    defect = refusal(source(tmp_path, data[:end]))
    assert defect.code == "truncated"
    assert name in defect.sentence
    assert "cut short" in defect.sentence


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_a_packed_file_with_bytes_behind_it_is_refused(tmp_path, name):
    defect = refusal(source(tmp_path, PACKED[name] + b"something else"))
    assert defect.code == "truncated"
    assert "damaged" in defect.sentence


def test_a_flipped_byte_in_a_gzip_file_is_found_by_its_checksum(tmp_path):
    data = bytearray(PACKED["gzip"])
    data[-6] ^= 1
    assert refusal(source(tmp_path, bytes(data))).code == "truncated"


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress], ids=["gzip", "zstd"])
def test_a_bomb_is_refused_at_the_limit_and_not_unpacked_beyond_it(tmp_path, pack):
    line = text({"process": "A", "kind": "internal", "label": "x" * 1000})
    bomb = source(tmp_path, pack(text(HEADER) + line * 20_000))
    assert bomb.stat().st_size < 100_000
    tracemalloc.start()
    defect = refusal(bomb, Limits(total_bytes=2**20))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert defect.code == "too-large"
    assert "1,048,576" in defect.sentence
    assert peak < 10 * 2**20


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress], ids=["gzip", "zstd"])
def test_a_bomb_without_lines_is_refused_at_the_line_limit(tmp_path, pack):
    bomb = source(tmp_path, pack(text(HEADER) + b"x" * 2**22))
    assert refusal(bomb, Limits(line_bytes=2**16)).code == "line-too-long"


def test_a_file_that_is_packed_twice_is_refused(tmp_path):
    defect = refusal(source(tmp_path, gzip.compress(gzip.compress(LOG))))
    assert defect.code == "unknown-format"
    assert "twice" in defect.sentence


@pytest.mark.parametrize("name", PACKED)
def test_spooling_unpacks_to_the_same_bytes(tmp_path, name):
    target = tmp_path / "spooled"
    assert spool(source(tmp_path, PACKED[name]), target, SMALL) == len(LOG)
    assert target.read_bytes() == LOG


def test_spooling_stops_at_the_limit(tmp_path):
    target = tmp_path / "spooled"
    with pytest.raises(InputRefused):
        spool(source(tmp_path, gzip.compress(b"x" * 2**23)), target, SMALL)
    assert target.stat().st_size <= SMALL.total_bytes
