"""Archives as people upload them, and as an attacker would."""

import gzip
import io
import re
import stat
import struct
import tarfile
import tempfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest
import zstandard

from snapshots.domain.model.defects import InputRefused
from snapshots.readers.formats.unpacking import packages
from snapshots.readers.formats.unpacking.packages import PackageLimits, unpack
from tests.readers.mutated import mutated

LIMITS = PackageLimits(total_bytes=2**20, files=50, depth=5, name_bytes=100)
LONG = "folder/" + "n" * 80 + "/" + "m" * 120
FILES = {"job/chk-1/_metadata": b"meta" * 300, "job/shared/a b%20": b"", "job/ä.txt": b"x"}


def a_zip(files, **options):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content, **options)
    return data.getvalue()


def a_tar(files, format=tarfile.PAX_FORMAT):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=format) as archive:
        for name, content in files.items():
            add(archive, name, content)
    return data.getvalue()


def add(archive, name, content=b"", **fields):
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for field, value in fields.items():
        setattr(info, field, value)
    archive.addfile(info, io.BytesIO(content))


def one_tar(name, content=b"", **fields):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        add(archive, name, content, **fields)
    return data.getvalue()


def zipped(name, mode=0, flags=0):
    """Make a zip of one file with a name of four bytes, by hand: zipfile cannot set flags."""
    info = zipfile.ZipInfo("NAME")
    info.external_attr = mode << 16
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(info, b"content")
    data = bytearray(data.getvalue())
    data[6] |= flags
    data[data.index(b"PK\x01\x02") + 8] |= flags
    return bytes(data).replace(b"NAME", name)


def unpacked(folder, data, limits=LIMITS, **options):
    source = folder / "upload"
    source.write_bytes(data)
    return unpack(source, folder / "target", limits, **options)


def names(folder):
    return [path.name for path in folder.iterdir()]


def contents(folder):
    root = folder / "target"
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def refused(folder, data, limits=LIMITS):
    """Return the code of the refusal, after which nothing may be left behind."""
    with pytest.raises(InputRefused) as caught:
        unpacked(folder, data, limits)
    assert names(folder) == ["upload"]
    [defect] = caught.value.defects
    assert defect.sentence.endswith((".", "?"))
    return defect.code


KINDS = {
    "zip": a_zip(FILES),
    "tar, pax": a_tar(FILES),
    "tar, GNU": a_tar(FILES, tarfile.GNU_FORMAT),
    "tar, ustar": a_tar(FILES, tarfile.USTAR_FORMAT),
    "tar.gz": gzip.compress(a_tar(FILES)),
    "tar.zst": zstandard.compress(a_tar(FILES)),
}


@pytest.mark.parametrize("data", KINDS.values(), ids=KINDS)
def test_every_kind_is_unpacked(tmp_path, data):
    found = unpacked(tmp_path, data)
    assert contents(tmp_path) == FILES
    assert (sorted(found.files), found.bytes) == (sorted(FILES), 1201)
    assert (found.skipped, found.originals) == ((), {})


@pytest.mark.parametrize("format", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_long_names_in_tar(tmp_path, format):
    limits = PackageLimits()
    assert unpacked(tmp_path, a_tar({LONG: b"1", "b": b"2"}, format), limits).files == (LONG, "b")


def test_a_file_alone_keeps_its_name_or_loses_its_compression(tmp_path):
    assert unpacked(tmp_path, b"log", name="x/run.log").files == ("run.log",)
    for number, data in enumerate((gzip.compress(b"log"), zstandard.compress(b"log"))):
        folder = tmp_path / str(number)
        folder.mkdir()
        name = ("run.log.gz", "run.log.zst")[number]
        assert unpacked(folder, data, name=name).files == ("run.log",)
        assert contents(folder) == {"run.log": b"log"}


def test_plain_names_are_different_and_the_originals_known(tmp_path):
    files = {"a b/x": b"1", "a_b/x": b"2", "a%b/ä": b"3", "a b/y z": b"4", "ok-1": b"5"}
    found = unpacked(tmp_path, a_zip(files), plain_names=True)
    originals = {name: found.originals.get(name, name) for name in found.files}
    assert {originals[name]: data for name, data in contents(tmp_path).items()} == files
    assert all(re.fullmatch("[a-z0-9_/-]+", name) for name in found.files)


def test_archives_in_an_archive_are_kept_and_listed_as_skipped(tmp_path):
    inner = {"a.zip": a_zip({"x": b""}), "b": gzip.compress(b""), "c.tar": a_tar({"x": b""})}
    found = unpacked(tmp_path, a_zip(inner))
    assert contents(tmp_path) == inner
    assert [name for name, _ in found.skipped] == list(inner)


def test_notes_of_macos_are_skipped_by_their_names(tmp_path):
    found = unpacked(tmp_path, a_zip({"__MACOSX/._a": b"1", "a": b"2", "b/.DS_Store": b"3"}))
    assert found.files == ("a",)
    assert [name for name, _ in found.skipped] == ["__MACOSX/._a", "b/.DS_Store"]


def test_bytes_behind_a_tar_are_listed_as_skipped(tmp_path):
    assert "3 bytes" in unpacked(tmp_path, KINDS["tar, GNU"] + b"\0abc").skipped[0][1]


def test_a_leading_dot_in_a_name_means_nothing(tmp_path):
    assert unpacked(tmp_path, a_tar({"./a//b": b"", "c": b""})).files == ("a/b", "c")


def test_windows_separators_are_separators(tmp_path):
    assert unpacked(tmp_path, zipped(b"a\\bc")).files == ("a/bc",)


NAMES = ["../x", "a/../../x", "/etc/x", "C:/x", "c:x", "\\\\host\\x", "..\\x", "a\x01b"]
NAMES += ["a/b/c/d/e/f", "n" * 101]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_lead_out_of_the_folder_are_refused(tmp_path, name):
    assert refused(tmp_path, a_zip({"good": b"x", name: b"x"})) == "unsafe-archive"
    assert refused(tmp_path, a_tar({"good": b"x", name: b"x"})) == "unsafe-archive"


def test_a_name_with_a_nul_is_refused(tmp_path):
    assert refused(tmp_path, zipped(b"a\0bc")) == "unsafe-archive"


CLASHES = [("a", "a"), ("a", "./a"), ("a", "a/b"), ("a/b", "a"), ("a/b", "a\\b")]


@pytest.mark.parametrize(("first", "second"), CLASHES)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_names_that_clash_are_refused(tmp_path, first, second):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(first, b"1")
        archive.writestr(second, b"2")
    assert refused(tmp_path, data.getvalue()) == "unsafe-archive"


TYPES = [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE]


@pytest.mark.parametrize("type", [*TYPES, b"S", b"D", b"Z"])
def test_a_tar_entry_that_is_not_a_file_is_refused(tmp_path, type):
    assert refused(tmp_path, one_tar("x", type=type, linkname="/etc/passwd")) == "unsafe-archive"


@pytest.mark.parametrize("mode", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO])
def test_a_zip_entry_that_is_not_a_file_is_refused(tmp_path, mode):
    assert refused(tmp_path, zipped(b"evil", mode | 0o777)) == "unsafe-archive"


def test_an_encrypted_entry_is_refused(tmp_path):
    assert refused(tmp_path, zipped(b"evil", flags=1)) == "unsafe-archive"


def test_too_many_files_are_refused(tmp_path):
    files = {f"f{n}": b"" for n in range(51)}
    assert refused(tmp_path, a_zip(files)) == "too-large"
    assert refused(tmp_path, a_tar(files)) == "too-large"


def test_a_directory_of_very_many_entries_is_not_listed(tmp_path):
    entry = b"PK\x01\x02" + bytes(42)
    directory = entry * 200_000
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 65535, 65535, len(directory), 4, 0)
    data = b"PK\x03\x04" + directory + end
    tracemalloc.start()
    assert refused(tmp_path, data, PackageLimits(files=1000)) == "too-large"
    assert tracemalloc.get_traced_memory()[1] < 3 * len(data)
    tracemalloc.stop()


BOMBS = {
    "zip": a_zip({"bomb": bytes(2**22)}),
    "zip of many": a_zip({f"{n}": bytes(2**17) for n in range(20)}),
    "tar": a_tar({"bomb": bytes(2**22)}),
    "tar.gz": gzip.compress(a_tar({"bomb": bytes(2**22)})),
    "tar.zst": zstandard.compress(a_tar({"bomb": bytes(2**22)})),
    "gz": gzip.compress(bytes(2**22)),
}


@pytest.mark.parametrize("data", BOMBS.values(), ids=BOMBS)
def test_bombs_are_refused(tmp_path, data):
    assert refused(tmp_path, data) == "too-large"


def test_the_ratio_bounds_how_much_a_small_archive_unpacks_to(tmp_path, monkeypatch):
    monkeypatch.setattr(packages, "RATIO_FLOOR", 2**16)
    limits = PackageLimits(ratio=10)
    data = gzip.compress(a_tar({"bomb": bytes(2**18)}))
    assert refused(tmp_path, data, limits) == "too-large"
    unpacked(tmp_path, gzip.compress(a_tar({"small": bytes(2**15)})), limits)


def test_zeros_without_end_behind_a_tar_are_refused(tmp_path):
    limits = PackageLimits(total_bytes=2**16, files=2)
    data = gzip.compress(a_tar({"a": b"1"}) + bytes(2**22))
    assert refused(tmp_path, data, limits) == "too-large"


def test_a_long_header_in_tar_is_refused(tmp_path):
    header = bytearray(one_tar("x", type=b"L")[:512])
    header[124:136] = b"77777777777\0"
    header[148:156] = b"%06o\0 " % (sum(header) - sum(header[148:156]) + 256)
    with pytest.raises(InputRefused, match=r"8,589,934,591 bytes is announced"):
        unpacked(tmp_path, bytes(header) + bytes(2**16))


CUT = {kind: data[: len(data) // 4] for kind, data in KINDS.items()} | {
    "tar without an end": KINDS["tar, GNU"].rstrip(b"\0") + bytes(40),
    "zip's sum": KINDS["zip"].replace(a_zip({"a": b"meta" * 300})[14:18], b"sums"),
    "7z": b"7z\xbc\xaf\x27\x1c" + bytes(600),
    "empty": b"",
    "a zip of nothing": a_zip({}),
    "a tar of nothing": one_tar("x/", type=b"5"),
}


@pytest.mark.parametrize("data", CUT.values(), ids=CUT)
def test_damage_is_refused(tmp_path, data):
    assert refused(tmp_path, data) in ("truncated", "unknown-format", "empty")


def test_a_folder_with_something_in_it_is_not_touched(tmp_path):
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "mine").write_text("1")
    with pytest.raises(FileExistsError):
        unpacked(tmp_path, KINDS["zip"])
    assert contents(tmp_path) == {"mine": b"1"}


def test_an_empty_folder_stays_and_stays_empty(tmp_path):
    (tmp_path / "target").mkdir()
    with pytest.raises(InputRefused):
        unpacked(tmp_path, a_tar({"a/b": b"", "../x": b""}))
    assert names(tmp_path / "target") == []


def test_damaged_archives_are_unpacked_or_refused(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    good = 0
    for number, data in enumerate(mutated(list(KINDS.values()))):
        with tempfile.TemporaryDirectory(dir=tmp_path) as name:
            folder = Path(name)
            try:
                found = unpacked(folder, data)
            except InputRefused:
                assert names(folder) == ["upload"], number
                continue
            good += 1
            assert sorted(found.files) == sorted(contents(folder))
            assert not any(path.is_symlink() for path in folder.rglob("*"))
    assert good
    assert names(tmp_path) == ["outside"]
    assert names(outside) == []


def test_a_directory_that_lies_before_the_beginning_is_refused_in_words(tmp_path):
    data = bytearray(KINDS["zip"])
    end = data.rindex(b"PK\x05\x06")
    data[end + 16 : end + 20] = (len(data) * 3).to_bytes(4, "little")
    source = tmp_path / "upload"
    source.write_bytes(data)
    with pytest.raises(InputRefused, match="does not lie where it says"):
        unpack(source, tmp_path / "target", LIMITS)
