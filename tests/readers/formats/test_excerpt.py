"""A refusal shows the line of which it speaks."""

import gzip

import pytest

from snapshots.domain.model.defects import refuse
from snapshots.readers.formats.excerpt import LONGEST, with_excerpt
from snapshots.readers.formats.limits import Limits

LIMITS = Limits()


def shown(path, line):
    return with_excerpt(refuse("not-json", "It is not JSON.", line=line), path, LIMITS).members


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_the_line_of_a_text_is_shown(tmp_path, pack):
    path = tmp_path / "log"
    path.write_bytes(pack(b"first\r\n\nthe third\n" + b"x" * 5_000_000 + b"\nthe last"))
    assert shown(path, 1) == {"excerpt": "first"}
    assert shown(path, 3) == {"excerpt": "the third"}
    assert shown(path, 5) == {"excerpt": "the last"}


def test_a_long_line_is_shortened_and_what_cannot_be_printed_is_replaced(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"\x1b[31mred\xff" + b"y" * 1000)
    excerpt = shown(path, 1)["excerpt"]
    assert excerpt.startswith("�[31mred�y")
    assert excerpt.endswith("y…")
    assert len(excerpt) == LONGEST + 1


def test_nothing_is_shown_where_there_is_no_such_line(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"one line\n")
    assert shown(path, None) == {}
    assert shown(path, 9) == {}
    path.write_bytes(b"PAR1" + bytes(range(256)) * 10)
    assert shown(path, 1) == {}
    assert shown(tmp_path / "gone", 1) == {}
