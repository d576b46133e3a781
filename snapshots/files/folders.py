"""Recognise the names in the folders of uploads and stores."""

import re
from collections.abc import Iterator
from pathlib import Path

from snapshots.files import aside, kept

STORED = re.compile(r"j(?P<job>[0-9]+)-(?P<attempt>[0-9]+)(-[0-9a-f]+)?(?P<rest>\..*)?")
"""Name of a run's folder: a job, an attempt, and in newer names a random part.

``rest`` follows the name while the folder is written or replaced.
"""


def is_stored_name(name: str) -> bool:
    """Tell whether a folder of this name holds a published recording."""
    match = STORED.fullmatch(name)
    return match is not None and not match["rest"]


def stored_names(root: Path) -> set[str]:
    """Return the names of the published recordings under a store's root."""
    if not root.is_dir():
        return set()
    return {path.name for path in root.iterdir() if is_stored_name(path.name)}


def upload_names() -> Iterator[str]:
    """Yield the names of complete uploads; unfinished ones begin with a dot."""
    names = (path.name for path in kept.root().iterdir())
    yield from (name for name in names if not name.startswith(".") and name != aside.FOLDER)
