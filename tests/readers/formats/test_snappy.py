import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.readers.formats.cursor import Malformed
from snapshots.readers.formats.snappy import inflate_block, inflate_frames
from tests.effort import examples
from tests.readers.mutated import MANY, mutated

IDENTIFIER = b"\xff\x06\x00\x00sNaPpY"
LIMIT = 2**20


def block(data: bytes) -> bytes:
    return pa.Codec("snappy").compress(data, asbytes=True)


def frame(data: bytes, kind: int = 0) -> bytes:
    content = bytes(4) + (block(data) if kind == 0 else data)
    return bytes([kind]) + len(content).to_bytes(3, "little") + content


@settings(max_examples=examples(100))
@given(st.binary(max_size=300) | st.integers(0, 70_000).map(lambda size: b"ab" * size))
def test_a_block_is_inflated(data):
    assert inflate_block(block(data), LIMIT) == data


@settings(max_examples=examples(100))
@given(st.lists(st.tuples(st.binary(max_size=50), st.sampled_from([0, 1])), max_size=4))
def test_frames_are_joined(parts):
    framed = IDENTIFIER + b"".join(frame(data, kind) for data, kind in parts)
    assert inflate_frames(framed, LIMIT) == b"".join(data for data, _ in parts)


def test_streams_follow_one_another_and_may_lack_their_identifier():
    padding = b"\xfe\x02\x00\x00\x00\x00" + b"\x80\x01\x00\x00x"
    data = frame(b"a") + padding + IDENTIFIER + frame(b"b", 1)
    assert inflate_frames(data, LIMIT) == b"ab"


def test_a_block_larger_than_the_limit_is_refused_before_it_is_inflated():
    with pytest.raises(Malformed, match="more than the 100 read here"):
        inflate_block(block(bytes(101)), 100)
    with pytest.raises(Malformed, match="4,294,967,295 bytes, more than"):
        inflate_block(b"\xff\xff\xff\xff\x0f", LIMIT)


def test_a_size_that_the_bytes_cannot_hold_is_refused():
    with pytest.raises(Malformed, match="1,048,575 bytes in 4"):
        inflate_block(b"\xff\xff\x3f\x00", LIMIT)


def test_frames_are_bounded_together():
    data = frame(bytes(60_000)) * 3
    assert len(inflate_frames(data, 180_000)) == 180_000
    with pytest.raises(Malformed, match="read here"):
        inflate_frames(data, 179_999)
    with pytest.raises(Malformed, match="read here"):
        inflate_frames(frame(bytes(10), 1), 9)


def test_a_frame_is_at_most_64_kib():
    with pytest.raises(Malformed, match="65,536 read here"):
        inflate_frames(frame(bytes(2**16 + 1)), LIMIT)


@pytest.mark.parametrize("data", [b"\x02\x00\x00\x00", b"\x00\x03\x00\x00abc", b"\xff\x01\0\0x"])
def test_bytes_that_are_not_a_frame_are_refused(data):
    with pytest.raises(Malformed, match="is not Snappy's"):
        inflate_frames(data, LIMIT)


def test_damaged_frames_are_read_or_refused():
    seed = IDENTIFIER + frame(b"abcabcabc" * 50) + frame(b"x" * 40, 1)
    for data in mutated([seed], MANY):
        try:
            assert len(inflate_frames(data, 2_000)) <= 2_000
        except Malformed:
            continue
