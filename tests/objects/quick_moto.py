"""Moto's server, which keeps each object as bytes: ``python -m tests.objects.quick_moto …``.

Moto itself copies a whole object for each range that is read. That would be nearly all of the time
of a measurement, and no object store does so. ``MOTO_DELAY`` are seconds before each answer.
"""

import os
import time
from weakref import WeakKeyDictionary

from moto.moto_server.werkzeug_app import DomainDispatcherApplication
from moto.s3.models import FakeKey
from moto.server import main

_kept: "WeakKeyDictionary[FakeKey, bytes]" = WeakKeyDictionary()
_read, _write = FakeKey.value.fget, FakeKey.value.fset
_answer = DomainDispatcherApplication.__call__
_delay = float(os.environ.get("MOTO_DELAY") or 0)


def _value(key: FakeKey) -> bytes:
    """Return the bytes of an object, which are copied once."""
    if key not in _kept:
        _kept[key] = _read(key)
    return _kept[key]


def _set_value(key: FakeKey, content: bytes) -> None:
    _kept.pop(key, None)
    _write(key, content)


def _answer_later(*request):
    time.sleep(_delay)
    return _answer(*request)


if __name__ == "__main__":
    FakeKey.value = property(_value, _set_value)
    DomainDispatcherApplication.__call__ = _answer_later
    main()
