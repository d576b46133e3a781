"""Make the archive of Spark's classes if there is none: ``python -m tasks.spark.make_classes``.

It takes half a minute, and a few hundred megabytes of memory. ``make run`` does it in the
background when it runs for the first time, ``make test`` before the tests.
"""

import fcntl
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tasks.spark import classes, jvm
from tasks.spark.configuration import setting
from tasks.spark.errors import SparkUnavailable

SECONDS_TO_WRITE = 120


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="cutline-classes-") as folder:
        os.environ["DATA_DIR"] = folder  # for the session's folder
        sys.stdout.write(f"{make()}\n")


def make() -> str:
    """Make the archive if there is none; return a sentence that says what was done.

    Of several processes that make it at once, one does, and the others leave it to that one.
    """
    java = jvm.find_java()
    archive = classes.path(java) if java else None
    if archive is None:
        return "Spark's classes are not archived, because this Java is missing or unusual."
    if setting("SPARK_REMOTE", "") or not jvm.is_local(setting("SPARK_MASTER", "local[*]")):
        return "Spark's classes are not archived, because Spark runs elsewhere."
    if archive.exists():
        return "Spark's classes are archived."
    try:
        with _turn() as is_ours:
            if not is_ours:
                return "Another process archives Spark's classes."
            _make(archive)
    except (OSError, SparkUnavailable) as error:
        return f"Spark's classes were not archived, so Spark starts more slowly: {error}"
    return "Spark's classes were archived, so Spark will start faster."


@contextmanager
def _turn() -> Iterator[bool]:
    """Yield whether no other process makes an archive while this block runs. Raises: OSError."""
    classes.FOLDER.mkdir(mode=0o755, exist_ok=True)
    with (classes.FOLDER / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def _make(archive: Path) -> None:
    """Write the archive, and remove those of other versions and what a killed process left.

    Raises: OSError, SparkUnavailable.
    """
    from tasks.spark import session  # only here, since it loads PySpark

    unfinished = archive.with_suffix(".unfinished")
    with classes.written_to(unfinished):
        session.warm()
        session.stop(SECONDS_TO_WRITE)
    unfinished.chmod(0o644)  # it may be made by another user than those who use it
    unfinished.replace(archive)
    for other in set(classes.FOLDER.glob("*.*")) - {archive}:
        other.unlink()


if __name__ == "__main__":
    main()
