"""Records what a distributed system does, and takes snapshots of it while it runs.

Three layers, each useful alone: ``Log`` writes events, ``FifoRules`` and ``AnyOrderRules`` are the
marker rules for any transport, and ``Node`` does both over TCP. Only the standard library is used.
"""

from .files import InUse
from .header import header
from .links import PeerLost, StaleEpoch
from .log import Log
from .node import Message, Node, Restore
from .pieces import DamagedPiece, EpochUsed, last_complete, next_epoch
from .rules import Complete, RecordChannel, RecordState, SendMarker
from .rules_any_order import AnyOrderRules
from .rules_fifo import FifoRules
from .taking import GivenUp

__all__ = [
    "AnyOrderRules",
    "Complete",
    "DamagedPiece",
    "EpochUsed",
    "FifoRules",
    "GivenUp",
    "InUse",
    "Log",
    "Message",
    "Node",
    "PeerLost",
    "RecordChannel",
    "RecordState",
    "Restore",
    "SendMarker",
    "StaleEpoch",
    "header",
    "last_complete",
    "next_epoch",
]
