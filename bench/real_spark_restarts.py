"""Ask Cutline whether a query can start again, then let a real Spark start it, case by case.

    python -m bench.real_spark_restarts FOLDER

FOLDER, which must not be there yet, gets the checkpoints of eight queries, and a copy of them for
each change. Cutline answers first: the check of the files, and the answer page. Then Spark starts
the query from the copy. The table that is printed is that of docs/formats/agreement.md.
"""

import argparse
import json
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import django
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

BATCHES = 4
LONGEST = 60  # seconds of one start
STATE = "org.apache.spark.sql.execution.streaming.state."
SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.ui.enabled": "false",
}
STARTED, FAILED, NEITHER = "started", "failed", "neither started nor failed"
WORDS = {"restorable": STARTED, "not-restorable": FAILED}  # what Spark does, by Cutline's answer


@dataclass(frozen=True)
class Query:
    """A query over files or over the source ``rate``.

    Attributes:
        source: ``file`` or ``rate``.
        transform: what the query does with the rows.
        state: the state store's class; None if the query keeps no state.
        sink: ``noop`` or ``json``.
        options: further options of the writer.
    """

    name: str
    source: str
    transform: Callable[[DataFrame], DataFrame]
    state: str | None = None
    sink: str = "noop"
    options: tuple[tuple[str, str], ...] = ()


def _counted(rows: DataFrame) -> DataFrame:
    return rows.groupBy("value").count()


HDFS, ROCKSDB = f"{STATE}HDFSBackedStateStoreProvider", f"{STATE}RocksDBStateStoreProvider"
ASYNCHRONOUS = (
    ("asyncProgressTrackingEnabled", "true"),
    ("asyncProgressTrackingCheckpointIntervalMs", "5000"),
)
QUERIES = (
    Query("files", "file", lambda rows: rows),
    Query("files, counted", "file", _counted, HDFS),
    Query("files, counted in RocksDB", "file", _counted, ROCKSDB),
    Query("files, each once", "file", lambda rows: rows.dropDuplicates(["value"]), HDFS),
    Query("files to files", "file", lambda rows: rows, sink="json"),
    Query("rate", "rate", lambda rows: rows),
    Query("rate, counted", "rate", _counted, HDFS),
    Query("rate, asynchronous progress", "rate", lambda rows: rows, options=ASYNCHRONOUS),
)
WITHOUT = "nothing, started without the option"


class Copy:
    """The copy of a checkpoint directory that is to be changed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.newest = max(int(path.name) for path in (root / "offsets").glob("[0-9]*"))

    def remove(self, path: str) -> None:
        """Remove a file with its checksums."""
        (self.root / path).unlink()
        self._without_checksums(path)

    def cut(self, path: str, share: float = 0.5) -> None:
        """Keep the first part of a file, without its checksums."""
        content = (self.root / path).read_bytes()
        (self.root / path).write_bytes(content[: int(len(content) * share)])
        self._without_checksums(path)

    def write(self, path: str, content: str) -> None:
        """Replace a file, without its checksums."""
        (self.root / path).write_text(content)
        self._without_checksums(path)

    def remove_checksums(self) -> None:
        for path in self.root.rglob(".*.crc"):
            path.unlink()

    def remove_newest_state(self) -> None:
        """Remove the newest changes of partition 0."""
        files = [p for p in (self.root / "state/0/0").iterdir() if re.match(r"\d+[._]", p.name)]
        newest = max(files, key=lambda path: int(re.split(r"[._]", path.name)[0]))
        self.remove(newest.relative_to(self.root).as_posix())

    def _without_checksums(self, path: str) -> None:
        file = self.root / path
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


Change = Callable[[Copy], object]
CHANGES: dict[str, Change] = {
    "nothing": lambda copy: None,
    "all checksums removed": Copy.remove_checksums,
    "the newest commit as Spark up to 2.3 wrote it": lambda copy: copy.write(
        f"commits/{copy.newest}", "v1\n{}"
    ),
    "the newest commit removed": lambda copy: copy.remove(f"commits/{copy.newest}"),
    "`metadata` removed": lambda copy: copy.remove("metadata"),
    "the newest offsets removed": lambda copy: copy.remove(f"offsets/{copy.newest}"),
    "the offsets before the newest removed": lambda copy: copy.remove(f"offsets/{copy.newest - 1}"),
    "the newest offsets cut": lambda copy: copy.cut(f"offsets/{copy.newest}"),
    "the newest commit cut": lambda copy: copy.cut(f"commits/{copy.newest}"),
}
OF_FILES: dict[str, Change] = {
    "the newest file of the source's log removed": lambda copy: copy.remove(
        f"sources/0/{copy.newest}"
    ),
}
OF_RATE: dict[str, Change] = {
    "the source's log removed": lambda copy: copy.remove("sources/0/0"),
    "the source's log emptied": lambda copy: copy.cut("sources/0/0", 0),
}
OF_STATE: dict[str, Change] = {
    "the newest changes of a partition removed": Copy.remove_newest_state,
    "the folder of a partition removed": lambda copy: shutil.rmtree(copy.root / "state/0/1"),
    "operator metadata removed": lambda copy: copy.remove("state/0/_metadata/metadata"),
}


def changes_of(query: Query) -> dict[str, Change]:
    """Return the changes that fit the checkpoint of a query, by what they are called."""
    if query.options:
        return {"nothing": CHANGES["nothing"], WITHOUT: CHANGES["nothing"]}
    return {
        **CHANGES,
        **(OF_FILES if query.source == "file" else OF_RATE),
        **(OF_STATE if query.state else {}),
    }


class Spark:
    """A real Spark, and the folder in which its queries read and write."""

    def __init__(self, folder: Path) -> None:
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
        running = self._start(query, checkpoint)
        while running.lastProgress is None or running.lastProgress["batchId"] < BATCHES - 1:
            time.sleep(0.1)
            if running.exception():
                raise RuntimeError(str(running.exception()))
        time.sleep(0.5)  # the newest batch is committed behind its report
        reports = [json.loads(json.dumps(one, default=str)) for one in running.recentProgress]
        running.stop()
        lines = "".join(f"{json.dumps(report)}\n" for report in reports)
        (checkpoint.parent / "progress.jsonl").write_text(lines)

    def again(self, query: Query, checkpoint: Path) -> str:
        """Start a query from a checkpoint, and tell whether it ended a batch."""
        self.add_file(query)
        running = None
        try:
            running = self._start(query, checkpoint)
            until = time.monotonic() + LONGEST
            while time.monotonic() < until and running.exception() is None:
                if any(one["durationMs"].get("addBatch") for one in running.recentProgress):
                    return STARTED
                time.sleep(0.1)
            return FAILED if running.exception() is not None else NEITHER
        except PySparkException:
            return FAILED
        finally:
            if running is not None:
                running.stop()

    def add_file(self, query: Query) -> None:
        inputs = self._folder(query) / "input"
        inputs.mkdir(parents=True, exist_ok=True)
        number = len(list(inputs.iterdir()))
        rows = (json.dumps({"value": 1000 * number + key}) for key in range(20))
        (inputs / f"{number:03}.json").write_text("\n".join(rows))

    def _folder(self, query: Query) -> Path:
        return self.folder / re.sub(r"\W+", "-", query.name)

    def _start(self, query: Query, checkpoint: Path) -> Any:
        if query.state:
            self.session.conf.set("spark.sql.streaming.stateStore.providerClass", query.state)
        reader = self.session.readStream.format(query.source)
        if query.source == "file":
            reader = self.session.readStream.schema("value long").format("json")
            reader = reader.option("maxFilesPerTrigger", 1)
            rows = reader.load(str(self._folder(query) / "input"))
        else:
            rows = reader.option("rowsPerSecond", 20).load()
        writer = query.transform(rows).writeStream.format(query.sink)
        writer = writer.outputMode("update" if query.transform is _counted else "append")
        if query.source == "rate":
            writer = writer.trigger(processingTime="2 seconds")
        if query.sink != "noop":
            writer = writer.option("path", str(self._folder(query) / "output"))
        writer = writer.options(**dict(query.options))
        return writer.option("checkpointLocation", str(checkpoint)).start()


def said(root: Path, scratch: Path) -> tuple[str, bool]:
    """Return the check's answer about a folder, and whether the answer page agrees with it."""
    from snapshots.answers.first_answer import of_inventory  # needs Django's settings
    from snapshots.readers.engines.registry import READERS
    from snapshots.store.inventory.reading import StoredInventory
    from snapshots.store.inventory.writing import write_inventory

    upload = READERS["spark-streaming"].read(root)
    answer = upload.restore_check().answer
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    write_inventory(scratch, upload)
    subjects = of_inventory(StoredInventory(scratch), frozenset()).subjects
    texts = " ".join(one.text for subject in subjects for one in subject.sentences)
    page = "restorable"
    if "A restart cannot go on" in texts:
        page = "not-restorable"
    elif "Whether a restart can go on is not known" in texts or "if the query keeps no" in texts:
        page = "not-known"
    return answer, page == answer


def cases(spark: Spark, folder: Path) -> Iterator[tuple[str, str, str, bool, str]]:
    """Yield query, change, answer, whether the page agrees, and what Spark did."""
    for query in QUERIES:
        own = folder / "first" / re.sub(r"\W+", "-", query.name)
        own.mkdir(parents=True)
        spark.first_run(query, own / "checkpoint")
        for number, (title, change) in enumerate(changes_of(query).items()):
            root = folder / "copies" / own.name / str(number)
            shutil.copytree(own, root)
            change(Copy(root / "checkpoint"))
            answer, agrees = said(root, folder / "scratch")
            started = replace(query, options=()) if title == WITHOUT else query
            did = spark.again(started, root / "checkpoint")
            yield query.name, title, answer, agrees, did


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder.absolute()
    folder.mkdir(parents=True)
    django.setup()
    counts: Counter[str] = Counter()
    print("| query | change | Cutline said | the page | Spark |\n| --- | --- | --- | --- | --- |")
    for name, title, answer, agrees, did in cases(Spark(folder), folder):
        is_right = agrees and WORDS.get(answer, did) == did
        counts["right" if is_right else "WRONG"] += 1
        counts[answer] += 1
        counts[did] += 1
        page = "the same" if agrees else "ANOTHER"
        print(f"| {name} | {title} | {answer} | {page} | {did} |", flush=True)
    print(dict(counts))


if __name__ == "__main__":
    main()
