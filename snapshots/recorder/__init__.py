"""Records what a distributed system does, and takes snapshots of it while it runs.

Three layers, each useful alone: ``Log`` writes events, ``FifoRules`` and ``AnyOrderRules`` are the
marker rules for any transport, and ``Node`` does both over TCP. Only the standard library is used.
"""

from .header import header
from .log import Log
from .rules import Complete, RecordChannel, RecordState, SendMarker
from .rules_any_order import AnyOrderRules
from .rules_fifo import FifoRules

__all__ = [
    "AnyOrderRules",
    "Complete",
    "FifoRules",
    "Log",
    "RecordChannel",
    "RecordState",
    "SendMarker",
    "header",
]
