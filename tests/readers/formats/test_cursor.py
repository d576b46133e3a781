import pytest

from snapshots.readers.formats.cursor import Cursor, Malformed, modified_utf8


def test_numbers_are_big_endian_and_move_on():
    cursor = Cursor(b"\x01\xff\x00\x02\xff\xff\xff\xfe\x00\x00\x00\x00\x00\x00\x00\x03")
    assert [cursor.u8(), cursor.i8(), cursor.i16(), cursor.i32(), cursor.i64()] == [1, -1, 2, -2, 3]
    assert cursor.left == 0


def test_nothing_is_read_past_the_end_of_a_part():
    cursor = Cursor(b"\x00\x00\x00\x00", end=3)
    with pytest.raises(Malformed, match=r"4 bytes is expected and 3 are left \(at byte 0\)"):
        cursor.i32()
    assert cursor.position == 0


def test_a_count_is_checked_against_what_is_left():
    with pytest.raises(Malformed, match="3 items are announced and 8 bytes are left"):
        Cursor(b"\x00\x00\x00\x03" + bytes(8)).count(bytes_each=4)
    with pytest.raises(Malformed, match="-1 items"):
        Cursor(b"\xff\xff\xff\xff").count()
    assert Cursor(b"\x00\x00\x00\x02" + bytes(8)).count(bytes_each=4) == 2


def test_a_flag_is_0_or_1():
    assert Cursor(b"\x01").flag() is True
    with pytest.raises(Malformed, match="2 is there"):
        Cursor(b"\x02").flag()


def test_modified_utf8():
    assert Cursor(b"\x00\x03a\xc0\x80").utf() == "a\0"
    assert modified_utf8(b"\xed\xa0\xbd\xed\xb8\x80") == "😀"
    assert modified_utf8(b"\xed\xa0\xbd") == "\N{REPLACEMENT CHARACTER}"
    with pytest.raises(Malformed, match="no text"):
        modified_utf8(b"\xff", 7)
