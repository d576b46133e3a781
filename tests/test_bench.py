"""The measurements of ``bench`` run as far as can be seen without waiting for them."""

import os

import pytest

from bench import server, store

pytestmark = pytest.mark.slow


def test_the_store_is_measured(capsys):
    assert "cut" in store._measured(2000)
    assert "window, time, all" in capsys.readouterr().out


def test_a_log_larger_than_the_default_limit_is_let_in(tmp_path):
    log = tmp_path / "large.jsonl"
    log.touch()
    os.truncate(log, 3 * 2**30)  # a hole: takes no room
    assert {int(most) for most in server.room_for(log).values()} == {3 * 2**30}


def test_an_upload_is_sent_in_pieces(tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_bytes(b"x" * (2**20 + 7))
    pieces = list(server._pieces(b"head", log, b"tail"))
    assert b"".join(pieces) == b"head" + log.read_bytes() + b"tail"
    assert max(map(len, pieces)) <= 2**20
