"""The archive of the classes that Spark's JVM loads, with which the next JVM starts faster.

A JVM that finds its classes in such an archive (Java's class data sharing) neither reads them from
the jars nor checks them again. There is one for each Java and each Spark; ``make_classes.py``
writes it. A JVM without an archive, or with one that does not fit, reads the jars.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from tasks.spark.configuration import REPOSITORY

FOLDER = REPOSITORY / ".spark-classes"
_QUIET = ["-Xshare:auto", "-Xlog:cds*=off", "-Xlog:class+path=off"]
_unfinished: Path | None = None


def options(java: Path) -> list[str]:
    """Return the options with which a JVM uses the archive, or writes one when it ends."""
    if _unfinished is not None:
        return [*_QUIET, f"-XX:ArchiveClassesAtExit={_unfinished}"]
    archive = path(java)
    if archive is None or not archive.exists():
        return []
    return [*_QUIET, f"-XX:SharedArchiveFile={archive}"]


def path(java: Path) -> Path | None:
    """Return where the archive for this Java and this Spark is kept; None for an unusual Java."""
    modules = java.resolve().parents[1] / "lib" / "modules"
    try:
        state = modules.stat()
    except OSError:
        return None
    facts = (str(modules), state.st_size, state.st_mtime_ns, spark_home(), version("pyspark"))
    key = hashlib.sha256(repr(facts).encode()).hexdigest()[:16]
    return FOLDER / f"{key}.jsa"


def spark_home() -> str:
    """Return the folder of the Spark among the packages, without loading it."""
    spec = find_spec("pyspark")
    assert spec is not None  # it is one of the requirements
    assert spec.origin is not None
    return str(Path(spec.origin).resolve().parent)


@contextmanager
def written_to(file: Path) -> Iterator[None]:
    """Let a JVM that this process starts in the block write its classes to a file at its end."""
    global _unfinished
    _unfinished = file
    try:
        yield
    finally:
        _unfinished = None
