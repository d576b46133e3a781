"""The recorder as a wheel, made in memory from ``snapshots/recorder``.

The same sources make the same bytes: the files are sorted, uncompressed and of one fixed date.
"""

import base64
import hashlib
import io
from functools import cache
from pathlib import Path
from zipfile import ZipFile, ZipInfo

from webapp.version import VERSION

PACKAGE = "cutline_recorder"
NAME = f"{PACKAGE}-{VERSION}-py3-none-any.whl"
_SOURCES = Path(__file__).resolve().parent.parent / "snapshots" / "recorder"
_INFO = f"{PACKAGE}-{VERSION}.dist-info"
_METADATA = f"""Metadata-Version: 2.1
Name: cutline-recorder
Version: {VERSION}
Summary: Records what a distributed system does, and takes snapshots of it while it runs
Requires-Python: >=3.9
"""
_WHEEL = """Wheel-Version: 1.0
Generator: cutline
Root-Is-Purelib: true
Tag: py3-none-any
"""


@cache
def wheel() -> bytes:
    """Return the bytes of the wheel."""
    files = {f"{PACKAGE}/{path.name}": path.read_bytes() for path in sorted(_SOURCES.glob("*.py"))}
    files[f"{_INFO}/METADATA"] = _METADATA.encode()
    files[f"{_INFO}/WHEEL"] = _WHEEL.encode()
    files[f"{_INFO}/RECORD"] = _record(files)
    packed = io.BytesIO()
    with ZipFile(packed, "w") as package:
        for name, data in files.items():
            entry = ZipInfo(name)
            entry.external_attr = 0o644 << 16
            package.writestr(entry, data)
    return packed.getvalue()


def _record(files: dict[str, bytes]) -> bytes:
    """Return the list of all files with hash and size; its own line has neither."""
    lines = [f"{name},sha256={_digest(data)},{len(data)}" for name, data in files.items()]
    return "\n".join([*lines, f"{_INFO}/RECORD,,", ""]).encode()


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
