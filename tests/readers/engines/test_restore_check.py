"""Whether all is there that a restore reads: every real case, and with each file removed or cut."""

import re
import shutil
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from snapshots.domain.inventory.restore_check import UploadCheck
from snapshots.domain.model.defects import InputRefused
from snapshots.readers.engines.registry import READERS
from snapshots.readers.engines.spark_streaming.adapter import restore_check as spark_check
from tests.readers.engines.needed_files import (
    CHANGES,
    NO,
    NOT_KNOWN,
    YES,
    Query,
    change,
    files_below,
    flink_needs,
)
from tests.readers.engines.spark_streaming.cases import case_paths

UNKNOWN_SERIALIZERS = {"flink1.18-sql-join", "flink1.3-operator-state"}
DAMAGED = {
    "damaged-empty-commit": NO,
    "damaged-truncated-offset": NO,
    "damaged-no-schema": NOT_KNOWN,
    "damaged-missing-delta": YES,  # a snapshot of a later version holds what it held
    "stateless-file-to-parquet": NOT_KNOWN,  # without its progress reports, state may be left out
    "stateless-rate-to-json": NOT_KNOWN,
}
SPARK = "spark-streaming"
DOCUMENT = Path(settings.BASE_DIR) / "docs" / "formats" / "completeness.md"


def documented(engine: str, of: str = "as it was written") -> Counter[str]:
    """Return how many answers of each kind the table of the document has."""
    row = re.search(rf"\| {engine} \| {of} \| (.*?) \|$", DOCUMENT.read_text(), re.MULTILINE)
    numbers = [int(number.replace(",", "")) for number in row[1].split(" | ")]
    return +Counter(dict(zip((YES, NO, NOT_KNOWN), numbers, strict=True)))


def checked(engine: str, root: Path) -> UploadCheck | None:
    """Check the files below a folder; None if nothing of them is readable."""
    try:
        return READERS[engine].read(root).restore_check()
    except InputRefused:
        return None


def answers(check: UploadCheck | None) -> dict[str | None, str]:
    """Return the answers by path of the checkpoint."""
    return {} if check is None else {one.path: one.answer for one in check.checks}


def flink_roots(shared_data: Path) -> list[Path]:
    """Return the folders with checkpoints of every case of Flink."""
    cases = [*(shared_data / "flink").iterdir(), *(shared_data / "flink-legacy").iterdir()]
    upgrades = (shared_data / "flink-upgrade" / "savepoints").glob("*/*/_metadata")
    roots = [case / "files" for case in cases if case.is_dir()]
    return sorted([*roots, *(path.parent for path in upgrades)])


def unpacked(case: Path, folder: Path) -> Path:
    with zipfile.ZipFile(case) as package:
        package.extractall(folder)
    return folder / case.stem


def test_every_case_of_flink_is_answered(shared_data):
    counts = Counter()
    for root in flink_roots(shared_data):
        check = checked("flink", root)
        assert check.answer == (NOT_KNOWN if root.parent.name in UNKNOWN_SERIALIZERS else YES), root
        counts.update(one.answer for one in check.checks)
    assert counts == documented("Flink")


def test_every_case_of_spark_is_answered(shared_data, tmp_path):
    counts = Counter()
    for case in case_paths(shared_data):
        for root in sorted(unpacked(case, tmp_path).glob("checkpoint*")):
            check = checked(SPARK, root)
            assert check.answer == DAMAGED.get(case.stem, YES), case
            counts[check.answer] += 1
    assert counts == documented("Spark")


def test_every_case_of_seatunnel_is_answered(shared_data, tmp_path):
    counts = Counter()
    for case in sorted((shared_data / "seatunnel").glob("*.zip")):
        check = checked("seatunnel", unpacked(case, tmp_path))
        counts.update(one.answer for one in check.checks)
    assert counts == documented("SeaTunnel")


CUT = "with one file removed or cut"


def changed_copies(engine: str, root: Path) -> Iterator[tuple[str, str, UploadCheck | None]]:
    """Change one file after another, and yield the file, the change and the check."""
    for path in files_below(root):
        content = (root / path).read_bytes()
        for how in CHANGES:
            change(root / path, how)
            yield path, how, checked(engine, root)
            (root / path).write_bytes(content)


@pytest.mark.slow
def test_no_checkpoint_of_flink_is_restorable_without_a_byte_that_it_needs(shared_data, tmp_path):
    counts, wrong = Counter(), []
    for number, source in enumerate(flink_roots(shared_data)):
        root = shutil.copytree(source, tmp_path / str(number))
        before = answers(checked("flink", root))
        needs = {
            (folder, path, how): flink_needs(root, folder, path, how)
            for folder in before
            for path in files_below(root)
            for how in CHANGES
        }
        for path, how, check in changed_copies("flink", root):
            after = answers(check)
            counts[NO if check is None else check.answer] += 1
            for folder, answer in before.items():
                given = after.get(folder, NO)
                if needs[folder, path, how] and given == YES:
                    wrong.append((source, folder, path, how, "restorable"))
                if not needs[folder, path, how] and given != answer:
                    wrong.append((source, folder, path, how, given))
    assert not wrong, "\n".join(map(str, wrong))
    assert counts == documented("Flink", CUT)


def without_checksums(root: Path) -> None:
    """Remove the files that a copy out of an object storage lacks."""
    for path in files_below(root):
        if path.endswith(".crc"):
            (root / path).unlink()


@pytest.mark.parametrize(
    "sums",
    [
        pytest.param("with checksum files", marks=pytest.mark.long),
        pytest.param("without checksum files", marks=pytest.mark.slow),
    ],
)
def test_no_query_of_spark_starts_again_without_a_byte_that_it_needs(shared_data, tmp_path, sums):
    counts, wrong = Counter(), []
    for case in case_paths(shared_data):
        if case.stem in DAMAGED:
            continue
        for root in sorted(unpacked(case, tmp_path).glob("checkpoint*")):
            if sums == "without checksum files":
                without_checksums(root)
            query = Query(root)
            for path, how, check in changed_copies(SPARK, root):
                expected = query.expected(path, how)
                answer = NO if check is None else check.answer
                counts[answer] += 1
                if answer not in expected:
                    wrong.append((case.stem, path, how, answer, sorted(expected)))
    assert not wrong, "\n".join(map(str, wrong))
    assert counts == documented("Spark", f"{CUT}, {sums}")


def test_no_checkpoint_of_seatunnel_is_restorable_without_a_byte(shared_data, tmp_path):
    counts, wrong = Counter(), []
    for case in sorted((shared_data / "seatunnel").glob("*.zip")):
        root = unpacked(case, tmp_path)
        (root / "expected.json").unlink()
        before = answers(checked("seatunnel", root))
        for path, how, check in changed_copies("seatunnel", root):
            after = answers(check)
            counts[NO if check is None else check.answer] += 1
            right = {name: YES for name in before if name != path}
            given = {name: answer for name, answer in after.items() if name != path}
            if given != right or after.get(path) == YES:
                wrong.append((case.stem, path, how, after))
    assert not wrong, "\n".join(map(str, wrong))
    assert counts == documented("SeaTunnel", CUT)


@pytest.mark.slow
def test_every_cut_of_a_file_of_seatunnel_is_seen(shared_data, tmp_path):
    for case in sorted((shared_data / "seatunnel").glob("*.zip")):
        for file in sorted(unpacked(case, tmp_path).rglob("*.ser")):
            content, alone = file.read_bytes(), tmp_path / "alone"
            alone.mkdir(exist_ok=True)
            for size in range(len(content)):
                (alone / file.name).write_bytes(content[:size])
                assert YES not in answers(checked("seatunnel", alone)).values(), (file, size)
            (alone / file.name).unlink()


ALONE = (  # versions 2, 3, 4 and 6, in a folder with all that they name
    "flink/v2-bank-fs",
    "flink-legacy/flink1.12-heap-timers",
    "flink/v4-unaligned-orders",
    "flink/types",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALONE)
def test_every_cut_of_a_metadata_of_flink_is_seen(shared_data, tmp_path, name):
    path = min((shared_data / name).rglob("_metadata"), key=lambda file: file.stat().st_size)
    folder = shutil.copytree(path.parent, tmp_path / path.parent.name)
    assert set(answers(checked("flink", tmp_path)).values()) == {YES}
    content = path.read_bytes()
    step = max(1, len(content) // 300)
    for size in {*range(0, len(content), step), *range(len(content) - 700, len(content))}:
        (folder / "_metadata").write_bytes(content[:size])
        assert set(answers(checked("flink", tmp_path)).values()) <= {NO}, size


def test_what_is_not_read_for_a_limit_is_not_known(shared_data):
    root = shared_data / "flink" / "unaligned-orders" / "files"
    upload = READERS["flink"].read(root)
    upload.upload.files.room.left = 0
    check = upload.restore_check()
    assert {one.answer for one in check.checks} == {NOT_KNOWN}
    assert "It is not read: the bytes of state" in check.checks[0].unknown[0]


def test_older_batches_are_looked_up_as_far_as_there_is_room(shared_data, tmp_path, monkeypatch):
    root = unpacked(shared_data / "spark-streaming" / "window-agg-hdfs.zip", tmp_path)
    monkeypatch.setattr(spark_check, "MOST_LOOKED_UP", 100)
    check = checked(SPARK, root / "checkpoint")
    assert check.answer == YES
    counts = Counter(one.answer for one in check.checks)
    assert (counts[YES], counts[NOT_KNOWN]) == (4, 8)
    assert [one.id for one in check.checks if one.answer == YES] == [8, 9, 10, 11]
