"""Whether all is there that a restore reads: every real case, and with each file removed or cut.

The quick tests change one or two files of each kind, each in two ways. The ``long`` tests change
every file in every way, and count the answers for the table in the document.
"""

import re
import shutil
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest
from django.conf import settings

from snapshots.domain.inventory.restore_check import UploadCheck
from snapshots.domain.model.defects import InputRefused
from snapshots.readers.engines.registry import READERS
from snapshots.readers.engines.spark_streaming.adapter import restore_check as spark_check
from tests.readers.engines.needed_files import (
    CHANGES,
    LAST_BYTE,
    NO,
    NOT_KNOWN,
    REMOVED,
    YES,
    Query,
    change,
    files_below,
    flink_needs,
    kinds_of,
)
from tests.readers.engines.spark_streaming.cases import case_paths

OLD_FORM = "flink1.3-operator-state"
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
        assert check.answer == (NOT_KNOWN if root.parent.name == OLD_FORM else YES), root
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
EACH_KIND, EVERY_FILE = "each kind", "every file"
EXTENTS = [
    pytest.param(EACH_KIND, marks=pytest.mark.slow),
    pytest.param(EVERY_FILE, marks=pytest.mark.long),
]


def changed_copies(
    engine: str, root: Path, paths: Iterable[str], changes: Sequence[str] = CHANGES
) -> Iterator[tuple[str, str, UploadCheck | None]]:
    """Change one file after another, and yield the file, the change and the check."""
    for path in paths:
        content = (root / path).read_bytes()
        for how in changes:
            change(root / path, how)
            yield path, how, checked(engine, root)
            (root / path).write_bytes(content)


def changes_of(extent: str) -> tuple[str, ...]:
    return CHANGES if extent == EVERY_FILE else (REMOVED, LAST_BYTE)


@pytest.mark.parametrize("extent", EXTENTS)
def test_no_checkpoint_of_flink_is_restorable_without_a_byte_that_it_needs(
    shared_data, tmp_path, extent
):
    counts, wrong = Counter(), []
    for number, source in enumerate(flink_roots(shared_data)):
        root = shutil.copytree(source, tmp_path / str(number))
        before = answers(checked("flink", root))
        paths, needs = files_below(root), {}
        for path in paths:
            for how in CHANGES:
                needs[path, how] = [one for one in before if flink_needs(root, one, path, how)]
        if extent == EACH_KIND:
            kinds = kinds_of(root, {path: needs[path, REMOVED] for path in paths})
            paths = [kind[0] for kind in kinds]  # their names are ids, which have no order
        for path, how, check in changed_copies("flink", root, paths, changes_of(extent)):
            after = answers(check)
            counts[NO if check is None else check.answer] += 1
            for folder, answer in before.items():
                given = after.get(folder, NO)
                if folder in needs[path, how] and given == YES:
                    wrong.append((source, folder, path, how, "restorable"))
                if folder not in needs[path, how] and given != answer:
                    wrong.append((source, folder, path, how, given))
    assert not wrong, "\n".join(map(str, wrong))
    assert counts.keys() == {YES, NO}
    assert extent == EACH_KIND or counts == documented("Flink", CUT)


def without_checksums(root: Path) -> None:
    """Remove the files that a copy out of an object storage lacks."""
    for path in files_below(root):
        if path.endswith(".crc"):
            (root / path).unlink()


WITH_SUMS, WITHOUT_SUMS = "with checksum files", "without checksum files"


@pytest.mark.parametrize(
    ("extent", "sums"),
    [
        pytest.param(EACH_KIND, WITHOUT_SUMS, marks=pytest.mark.slow),
        pytest.param(EVERY_FILE, WITHOUT_SUMS, marks=pytest.mark.long),
        pytest.param(EVERY_FILE, WITH_SUMS, marks=pytest.mark.long),
    ],
)
def test_no_query_of_spark_starts_again_without_a_byte_that_it_needs(
    shared_data, tmp_path, extent, sums
):
    counts, wrong = Counter(), []
    for case in case_paths(shared_data):
        if case.stem in DAMAGED:
            continue
        for root in sorted(unpacked(case, tmp_path).glob("checkpoint*")):
            if sums == WITHOUT_SUMS:
                without_checksums(root)
            query, paths = Query(root), files_below(root)
            if extent == EACH_KIND:
                expectations = {
                    path: [query.expected(path, how) for how in CHANGES] for path in paths
                }
                kinds = kinds_of(root, expectations)
                paths = [path for kind in kinds for path in {kind[0]: 0, kind[-1]: 0}]
            for path, how, check in changed_copies(SPARK, root, paths, changes_of(extent)):
                expected = query.expected(path, how)
                answer = NO if check is None else check.answer
                counts[answer] += 1
                if answer not in expected:
                    wrong.append((case.stem, path, how, answer, sorted(expected)))
    assert not wrong, "\n".join(map(str, wrong))
    assert counts.keys() == {YES, NO, NOT_KNOWN}
    assert extent == EACH_KIND or counts == documented("Spark", f"{CUT}, {sums}")


def test_no_checkpoint_of_seatunnel_is_restorable_without_a_byte(shared_data, tmp_path):
    counts, wrong = Counter(), []
    for case in sorted((shared_data / "seatunnel").glob("*.zip")):
        root = unpacked(case, tmp_path)
        (root / "expected.json").unlink()
        before = answers(checked("seatunnel", root))
        for path, how, check in changed_copies("seatunnel", root, files_below(root)):
            after = answers(check)
            counts[NO if check is None else check.answer] += 1
            right = {name: YES for name in before if name != path}
            given = {name: answer for name, answer in after.items() if name != path}
            if given != right or after.get(path) == YES:
                wrong.append((case.stem, path, how, after))
    assert not wrong, "\n".join(map(str, wrong))
    assert counts == documented("SeaTunnel", CUT)


MANY_CUTS, EVERY_CUT = "many cuts", "every cut"
CUTS = [MANY_CUTS, pytest.param(EVERY_CUT, marks=pytest.mark.long)]


def cut_sizes(size: int, cuts: str, *, spread: int, last: int) -> list[int]:
    """Return the sizes to which a file is cut: all, or some spread over it and its last ones."""
    if cuts == EVERY_CUT:
        return list(range(size))
    return sorted({*range(0, size, max(1, size // spread)), *range(max(0, size - last), size)})


@pytest.mark.parametrize("cuts", CUTS)
def test_a_cut_of_a_file_of_seatunnel_is_seen(shared_data, tmp_path, cuts):
    for case in sorted((shared_data / "seatunnel").glob("*.zip")):
        for file in sorted(unpacked(case, tmp_path).rglob("*.ser")):
            content, alone = file.read_bytes(), tmp_path / "alone"
            alone.mkdir(exist_ok=True)
            for size in cut_sizes(len(content), cuts, spread=50, last=20):
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
@pytest.mark.parametrize("cuts", CUTS)
@pytest.mark.parametrize("name", ALONE)
def test_a_cut_of_a_metadata_of_flink_is_seen(shared_data, tmp_path, name, cuts):
    path = min((shared_data / name).rglob("_metadata"), key=lambda file: file.stat().st_size)
    folder = shutil.copytree(path.parent, tmp_path / path.parent.name)
    assert set(answers(checked("flink", tmp_path)).values()) == {YES}
    content = path.read_bytes()
    for size in cut_sizes(len(content), cuts, spread=50, last=100):
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
