"""Check the checkpoint folders that people may follow, and split them into trusted parts.

A server that reads any folder a person enters could be led to files that are none of theirs. So
people may only enter folders below those that ``COLLECTOR_FOLDERS`` lists; the shell is free. What
lies below a listed folder is read without following any symbolic link.
"""

import os
from pathlib import Path

from django.conf import settings

from snapshots.archive.addresses import LONGEST, Forbidden, NotAnAddress


def checked_folder(text: str) -> str:
    """Return the path of a folder in its shortest form. Raises: NotAnAddress."""
    text = text.strip()
    if not text.isprintable() or len(text) > LONGEST:
        raise NotAnAddress(f"A path has at most {LONGEST} printable characters.")
    if not text.startswith("/") or text.startswith("//"):
        raise NotAnAddress("A path looks like /data/checkpoints/orders: it begins with one slash.")
    if ".." in text.split("/"):
        raise NotAnAddress("A path has no part “..”.")
    return os.path.normpath(text)


def require_below(path: str) -> tuple[Path, str]:
    """Return the listed folder that holds a checked path, and the rest of it. Raises: Forbidden.

    The rest is a path below the listed folder; it is empty for that folder itself.
    """
    listed = [os.path.normpath(entry) for entry in settings.COLLECTOR_FOLDERS]
    holding = [entry for entry in listed if path == entry or path.startswith(f"{entry}/")]
    if not holding:
        names = ", ".join(sorted(listed)) or "none"
        raise Forbidden(
            f"This server does not follow {path}. The setting COLLECTOR_FOLDERS lists the folders "
            f"below which it does: {names}."
        )
    root = max(holding, key=len)
    below = path[len(root) :].strip("/")
    if Path(path).resolve() != Path(root).resolve() / below:
        raise Forbidden(f"A part of {path} is a symbolic link, which is not followed.")
    return Path(root), below
