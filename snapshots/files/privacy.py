"""Close all kept files to other users of the machine: folders 0700, files 0600.

``webapp/settings.py`` sets the umask of every process; this corrects what exists already.
"""

import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

OTHERS = stat.S_IRWXG | stat.S_IRWXO


class NotPrivate(Exception):
    """Something that is kept stays open to others; the message says what and why."""


def mend(root: Path) -> int:
    """Take every right of other users from ``root`` and all in it; return how many had some.

    Links are not followed. Raises: NotPrivate.
    """
    mended = 0
    for path, status in _everything(root):
        if status.st_mode & OTHERS and not stat.S_ISLNK(status.st_mode):
            mended += _close(path, status)
    return mended


def _everything(root: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield every path, folders before their contents; skip those that go away meanwhile."""
    waiting = [root]
    while waiting:
        path = waiting.pop()
        try:
            status = path.lstat()
            yield path, status
            if stat.S_ISDIR(status.st_mode):
                waiting += path.iterdir()
        except FileNotFoundError:
            continue
        except PermissionError:
            raise NotPrivate(f"{path} cannot be read: {_belongs(status)}.") from None


def _close(path: Path, status: os.stat_result) -> int:
    try:
        path.chmod(stat.S_IMODE(status.st_mode) & ~OTHERS)
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise NotPrivate(
            f"Other users of this machine may open {path}, and that cannot be changed "
            f"({error.strerror}): {_belongs(status)}. Give it to the user that runs Cutline (chown)"
            f", or run “chmod -R go= {path}” as its owner."
        ) from None
    return 1


def _belongs(status: os.stat_result) -> str:
    return f"it belongs to {_user(status.st_uid)}, and Cutline runs as {_user(os.geteuid())}"


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"
