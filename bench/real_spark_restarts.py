"""Ask Cutline whether a query can start again, then let a real Spark start it, case by case.

    python -m bench.real_spark_restarts FOLDER [NAME ...]

FOLDER, which must not be there yet, gets the checkpoints of the queries of
`bench/restart_queries.py`, and a copy of them for each change. Cutline answers first: the check of
the files, and the answer page. Then Spark starts the query from the copy. NAMEs are parts of the
names of queries. The table that is printed last is that of docs/formats/agreement.md.
"""

import argparse
import json
import os
import re
import shutil
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import django
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from bench.restart_queries import QUERIES, WITHOUT, Copy, Query, changes_of

BATCHES = 4
LONGEST = 45  # seconds of one start
BEGIN = datetime(2026, 1, 1)
SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.streaming.stateStore.maintenanceInterval": "500ms",
    "spark.python.authenticate.socketTimeout": "60s",
}
STARTED, FAILED, NEITHER = "started", "failed", "neither started nor failed"
RESTORABLE, NOT_RESTORABLE, NOT_KNOWN = "restorable", "not-restorable", "not-known"
WORDS = {RESTORABLE: STARTED, NOT_RESTORABLE: FAILED}  # what Spark does, by Cutline's answer


class Spark:
    """A real Spark, and the folder in which its queries read and write."""

    def __init__(self, folder: Path) -> None:
        os.environ["PYSPARK_PYTHON"] = sys.executable  # which has pyarrow
        builder = SparkSession.builder.master("local[2]").appName("restarts")
        for name, value in SETTINGS.items():
            builder = builder.config(name, value)
        self.session = builder.getOrCreate()
        self.session.sparkContext.setLogLevel("OFF")
        self.folder = folder

    def first_run(self, query: Query, checkpoint: Path) -> None:
        """Run a query for some batches, and keep its progress reports beside its checkpoint."""
        for _ in range(BATCHES):
            self.add_file(query)
        running = self._start(query, checkpoint, stops=query.stops)
        until = time.monotonic() + 2 * LONGEST
        while not _newest_commit(checkpoint) >= BATCHES - 1 and time.monotonic() < until:
            time.sleep(0.1)
            if running.exception():
                break
        if bool(running.exception()) != bool(query.stops):
            raise RuntimeError(f"{query.name}: {running.exception()}")
        time.sleep(2)  # batches without data follow, and snapshots
        reports = [json.loads(json.dumps(one, default=str)) for one in running.recentProgress]
        running.stop()
        lines = "".join(f"{json.dumps(report)}\n" for report in reports)
        with (checkpoint.parent / "progress.jsonl").open("a") as file:
            file.write(lines)

    def again(self, query: Query, checkpoint: Path) -> tuple[str, str]:
        """Start a query from a checkpoint. Return whether it ended a batch, and what it said."""
        self.add_file(query)
        before, running = _newest_commit(checkpoint), None
        try:
            running = self._start(query, checkpoint)
            until = time.monotonic() + LONGEST
            while time.monotonic() < until and running.exception() is None:
                is_over = any(one["durationMs"].get("addBatch") for one in running.recentProgress)
                if is_over or _newest_commit(checkpoint) > before:
                    return STARTED, ""
                time.sleep(0.1)
            error = running.exception()
            return (NEITHER, "") if error is None else (FAILED, _short(str(error)))
        except (PySparkException, Py4JJavaError) as error:
            return FAILED, _short(str(error))
        finally:
            if running is not None:
                running.stop()

    def add_file(self, query: Query) -> None:
        inputs = self._folder(query) / "input"
        inputs.mkdir(parents=True, exist_ok=True)
        number = len(list(inputs.iterdir()))
        rows = (
            {
                "ts": (BEGIN + timedelta(seconds=30 * number + key)).isoformat(),
                "k": "abc"[key % 3],
                "value": 1000 * number + key,
            }
            for key in range(20)
        )
        (inputs / f"{number:03}.json").write_text("\n".join(map(json.dumps, rows)))

    def _folder(self, query: Query) -> Path:
        return self.folder / _name(query)

    def _start(self, query: Query, checkpoint: Path, stops: str = "") -> Any:
        for name in {name for each in QUERIES for name in each.settings}:
            self.session.conf.unset(name)
        for name, value in query.settings.items():
            self.session.conf.set(name, value)
        writer = query.rows(self.session, self._folder(query) / "input").writeStream
        if query.sink == "foreachBatch":
            writer = writer.foreachBatch(_stopping(stops))
        else:
            writer = writer.format(query.sink)
        if query.sink == "json":
            writer = writer.option("path", str(self._folder(query) / "output"))
        if query.trigger:
            writer = writer.trigger(**query.trigger)
        writer = writer.outputMode(query.mode).options(**query.options)
        return writer.option("checkpointLocation", str(checkpoint)).start()


def _stopping(when: str) -> Any:
    """Return a sink that fails before or after its work, or not at all."""

    def write(rows: DataFrame, batch: int) -> None:
        if when == "before":
            raise RuntimeError("stopped")
        rows.collect()
        if when == "after":
            raise RuntimeError("stopped")

    return write


def _newest_commit(checkpoint: Path) -> int:
    names = (path.name for path in (checkpoint / "commits").glob("*"))
    return max((int(name) for name in names if name.isdigit()), default=-1)


def _short(text: str) -> str:
    return re.sub(r"\s+", " ", text)[:200]


def _name(query: Query) -> str:
    return re.sub(r"\W+", "-", query.name).strip("-")


@dataclass(frozen=True)
class Case:
    """A changed copy of a checkpoint: what Cutline said of it, and what Spark did.

    Attributes:
        answer: of the check of the files.
        page: what the answer page says.
        first: the page's first sentence.
        notes: what the check tells besides.
        said: the beginning of Spark's exception.
    """

    query: str
    change: str
    answer: str
    page: str
    first: str
    notes: tuple[str, ...] = ()
    did: str = ""
    said: str = ""

    @property
    def depends(self) -> bool:
        """Tell whether Spark did not what was said, by a setting that the answer names."""
        repaired = any("autoSnapshotRepair was changed" in note for note in self.notes)
        return repaired and self.did == FAILED and "repair turned off" in self.query

    @property
    def is_right(self) -> bool:
        did = STARTED if self.depends else self.did
        return self.answer == self.page and WORDS.get(self.answer, did) == did


def asked(root: Path, scratch: Path, at: str) -> tuple[str, str, str, tuple[str, ...]]:
    """Return the check's answer about a checkpoint, the page's, its first sentence, and notes.

    Args:
        root: of the upload.
        at: the folder of the checkpoint in the upload.
    """
    from snapshots.answers.first_answer import of_inventory  # needs Django's settings
    from snapshots.readers.engines.registry import READERS
    from snapshots.store.inventory.reading import StoredInventory
    from snapshots.store.inventory.writing import write_inventory

    upload = READERS["spark-streaming"].read(root)
    list(upload.entries())
    check = upload.restore_check()
    logs = (f"{at}/offsets", f"{at}/commits")
    own = [one for one in check.checks if one.decides and (one.path or "").startswith(logs)]
    answer = own[0].answer if own else NOT_KNOWN
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    write_inventory(scratch, upload)
    subjects = of_inventory(StoredInventory(scratch), frozenset()).subjects
    mine = next(one for one in subjects if not own or one.key == own[0].job)
    texts = [one.text for one in mine.sentences]
    return answer, page_says(texts), texts[0], own[0].notes if own else ()


def page_says(texts: list[str]) -> str:
    """Return what sentences of the answer page say about a restart."""
    whole = " ".join(texts)
    if "A restart cannot go on" in whole:
        return NOT_RESTORABLE
    if "Whether a restart can go on is not known" in whole or "if the query keeps no" in whole:
        return NOT_KNOWN
    return RESTORABLE if re.search(r"A restart (goes on|runs|begins)", whole) else NOT_KNOWN


def cases(spark: Spark, folder: Path, queries: list[Query]) -> Iterator[Case]:
    """Yield each changed copy, after Spark was started from it."""
    for query in queries:
        own = folder / "first" / _name(query)
        at = "checkpoint"
        if query.inside:
            outer = next(one for one in QUERIES if one.name == query.inside)
            shutil.copytree(folder / "first" / _name(outer), own)
            at = "checkpoint/inner"
        own.mkdir(parents=True, exist_ok=True)
        try:
            spark.first_run(query, own / at)
        except RuntimeError as problem:
            print(f"NOT RUN: {problem}", flush=True)
            continue
        for number, (title, change) in enumerate(changes_of(query, own / at).items()):
            root = folder / "copies" / own.name / str(number)
            shutil.copytree(own, root)
            change(Copy(root / at))
            case = Case(query.name, title, *asked(root, folder / "scratch", at))
            started = replace(query, options={}) if title == WITHOUT else query
            did, said = spark.again(started, root / at)
            yield replace(case, did=did, said=said)


def table(found: list[Case]) -> Iterator[str]:
    """Yield a row for each query: after which changes Spark started, and after which it failed."""
    yield "| query | Spark started after | Spark failed after |"
    yield "| --- | --- | --- |"
    by_query: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for case in found:
        word = case.change if case.answer in WORDS else f"{case.change} (*not known*)"
        word += " (*restorable, unless this is turned off*)" if case.depends else ""
        by_query[case.query][case.did].append(word if case.is_right else f"**{word}**")
    for query, did in by_query.items():
        yield f"| {query} | {'; '.join(did[STARTED])} | {'; '.join(did[FAILED])} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", default=[""])
    options = parser.parse_args()
    folder: Path = options.folder.absolute()
    folder.mkdir(parents=True)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    django.setup()
    queries = [one for one in QUERIES if any(name in one.name for name in options.names)]
    found = []
    for case in cases(Spark(folder), folder, queries):
        found.append(case)
        word = "right" if case.is_right else "WRONG"
        print(
            word, case.query, case.change, case.answer, case.page, case.did, sep=" | ", flush=True
        )
        if not case.is_right or case.answer not in WORDS:
            print(f"    {case.first}\n    {case.said}", flush=True)
    print("\n".join(table(found)))
    for answer in (RESTORABLE, NOT_RESTORABLE, NOT_KNOWN):
        did = [case.did for case in found if case.answer == answer and not case.depends]
        print(answer, {word: did.count(word) for word in (STARTED, FAILED, NEITHER)})
    print("by a setting that was named", sum(case.depends for case in found))
    print(sum(case.is_right for case in found), "of", len(found), "right")


if __name__ == "__main__":
    main()
