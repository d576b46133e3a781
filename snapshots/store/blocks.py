"""Keep the blocks unpacked that were read last, of all columns and matrices of the process."""

import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

MOST_BYTES = 64 * 2**20  # of unpacked blocks that are kept

Block = TypeVar("Block", pa.Array, np.ndarray)


class KeptBlocks:
    """The last unpacked blocks, up to ``most`` bytes in all. Safe for threads."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.size = 0
        self._kept: OrderedDict[tuple[int, int], Any] = OrderedDict()
        self._lock = threading.Lock()

    def block(self, owner: int, number: int, unpacked: Callable[[int], Block]) -> Block:
        """Return a block of an owner, which ``unpacked`` makes of its number if it is not kept.

        A block that is larger than all that may be kept is not kept.
        """
        key = owner, number
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                kept: Block = self._kept[key]
                return kept
        block = unpacked(number)
        if block.nbytes <= self.most:
            with self._lock:
                self._keep(key, block)
        return block

    def _keep(self, key: tuple[int, int], block: Any) -> None:
        if key in self._kept:  # another thread was quicker
            return
        self._kept[key] = block
        self.size += block.nbytes
        while self.size > self.most:
            self.size -= self._kept.popitem(last=False)[1].nbytes


_kept = KeptBlocks(MOST_BYTES)
_owners = itertools.count()


class Blocks:
    """The blocks of one column or matrix among the kept ones."""

    def __init__(self) -> None:
        # A number, so that a kept block does not keep its file mapped.
        self._owner = next(_owners)

    def block(self, number: int, unpacked: Callable[[int], Block]) -> Block:
        """Return a block; see ``KeptBlocks.block``."""
        return _kept.block(self._owner, number, unpacked)
