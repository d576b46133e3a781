"""The process keeps unpacked blocks only up to so many bytes: those that were read last."""

import threading

import numpy as np

from snapshots.store.blocks import KeptBlocks


class Source:
    """Unpacks blocks of ten bytes, and notes which."""

    def __init__(self) -> None:
        self.unpacked: list[int] = []

    def block(self, number: int) -> np.ndarray:
        self.unpacked.append(number)
        return np.full(10, number, np.uint8)


def test_the_blocks_that_were_read_last_are_kept_whosever_they_are():
    kept, source = KeptBlocks(30), Source()
    for owner, number in [(1, 0), (1, 1), (2, 0), (1, 0), (2, 1), (1, 0), (2, 0), (1, 1)]:
        assert kept.block(owner, number, source.block).tolist() == [number] * 10
        assert kept.size <= 30
    assert source.unpacked == [0, 1, 0, 1, 1]


def test_a_block_that_is_larger_than_all_that_is_kept_is_not_kept():
    kept, source = KeptBlocks(9), Source()
    for _ in range(2):
        kept.block(1, 5, source.block)
    assert source.unpacked == [5, 5]
    assert kept.size == 0


def test_threads_that_read_at_once_leave_no_more_than_may_be_kept():
    kept, source = KeptBlocks(50), Source()
    gate = threading.Barrier(8)

    def read(seed: int) -> None:
        gate.wait()
        for number in np.random.default_rng(seed).integers(0, 9, 500).tolist():
            assert kept.block(1, number, source.block)[0] == number

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert kept.size == 50
