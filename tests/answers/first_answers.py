"""The first answers to all real cases, as texts that a person has read.

``python -m tests.answers.first_answers ../shared/data`` writes the texts anew. Read each changed
sentence against the expected answers of its case before you commit it.
"""

import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import django

from snapshots.domain.answering.sentences import FirstAnswer
from snapshots.readers.engines import registry
from snapshots.store.inventory.reading import StoredInventory
from snapshots.store.inventory.writing import write_inventory

TEXTS = Path(__file__).parent / "first_answers"
SUITES = ("flink", "flink-legacy", "seatunnel", "spark-streaming")
PARTS = ("files", "rest-before", "rest")


def cases(shared_data: Path, suite: str) -> list[Path]:
    """Return the folders or packages of a suite's cases."""
    return sorted(path for path in (shared_data / suite).iterdir() if path.suffix != ".md")


def named(case: Path) -> str:
    """Return the name of a case."""
    return case.name.removesuffix(".zip")


def answered(case: Path) -> FirstAnswer:
    """Read a case as an upload, write its inventory as a worker does, and answer from the store."""
    from snapshots.answers.first_answer import of_inventory  # needs Django's settings

    with tempfile.TemporaryDirectory() as folder:
        files, store = Path(folder) / "files", Path(folder) / "store"
        unpack(case, files)
        store.mkdir()
        names = sorted(p.relative_to(files).as_posix() for p in files.rglob("*") if p.is_file())
        reader = registry.recognise(files, tuple(names), registry.PACKAGE).reader
        assert reader is not None
        write_inventory(store, reader.read(files))
        inventory = StoredInventory(store)
        timed = frozenset(item.snapshot_name for item in inventory.summary.checkpoints)
        return of_inventory(inventory, timed)


def unpack(case: Path, files: Path) -> None:
    if case.suffix == ".zip":
        zipfile.ZipFile(case).extractall(files)
    for part in PARTS:
        if (case / part).is_dir():
            shutil.copytree(case / part, files / part)


def text_of(answer: FirstAnswer) -> str:
    """Write each sentence of an answer with its level, its evidence, and what is lacking."""
    return "\n".join(line for subject in answer.subjects for line in _lines(subject))


def _lines(subject) -> Iterator[str]:
    yield f"{subject.name or '(no name)'} {subject.key}".rstrip()
    for item in subject.sentences:
        yield f"  [{item.level}] {item.code}: {item.text}"
        yield from (f"      upload: {command}" for command in item.upload)
        labels = [f"{one.label} ({one.kind})" for one in item.evidence]
        if labels:
            yield f"      evidence: {', '.join(labels)}"


def golden(suite: str) -> dict[str, str]:
    """Return the text of each case that was read by a person."""
    parts = (TEXTS / f"{suite}.txt").read_text().split("\n# ")
    return dict(part.removeprefix("# ").rstrip("\n").split("\n", 1) for part in parts)


def write(shared_data: Path) -> None:
    TEXTS.mkdir(exist_ok=True)
    for suite in SUITES:
        texts = [
            f"# {named(case)}\n{text_of(answered(case))}\n" for case in cases(shared_data, suite)
        ]
        (TEXTS / f"{suite}.txt").write_text("\n".join(texts))


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    write(Path(sys.argv[1]))
