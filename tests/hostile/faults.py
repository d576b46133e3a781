"""What is done to a valid upload to make it a hostile one: the same for the same number."""

import gzip
import io
import random
import re
import stat
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import zstandard

from snapshots.readers import recognition
from snapshots.readers.engines import registry
from snapshots.readers.engines.spark_streaming.state.blocks import unpack
from snapshots.readers.formats.cursor import Malformed
from tests.hostile.seeds import FORMATS, MAPPED, Seed, seeds
from tests.readers.engines.spark_streaming.rows import lz4_stream
from tests.readers.mutated import mutated

BOMB_BYTES = 80 * 2**20  # unpacked, more than an archive of any size may hold without reason
MANY_FILES = 3_000
_HUGE = (
    b"9223372036854775807", b"9223372036854775808", b"-9223372036854775808", b"1e308", b"1e999",
    b"99999999999999999999999999", b"-1", b"4294967295", b"2147483648", b"1000000000",
)  # fmt: skip
_HUGE_BYTES = (
    b"\x7f\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x00\x00\xff\xff", b"\x7f" + b"\xff" * 7,
    b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f", b"\xff\xff\xff\xff\x0f", b"\x00\x10\x00\x00",
)  # fmt: skip
_NAMES = (
    "../outside", "a/../../outside", "/tmp/outside", "/outside", "C:\\outside", "..\\..\\outside",
    "a\\..\\..\\outside", "a/\x00b", "a/\x1b[2J", "a\nb", "..", ".", "", "a//b", "./a", "a/./b/.",
    "a/" + "n" * 300, "d/" * 200 + "x", "\u202eexe.tar", "é\u0301/ß", "con", "a b%20%2e%2e/%2fx",
    "🙂/{}/$(id)", "<script>alert(1)</script>", "'; drop table x;--", "-rf", "~/.ssh/x", "a" * 255,
    "_metadata", "offsets/0", "commits/9999999999999999999", "state/0/0/1.delta", "x.ser",
    "state/99999999999/99999999999/1.zip", "\udc80", "a:b", "nul.", "x" * 2000,
)  # fmt: skip
_SUFFIXES = (
    "", ".zip", ".jsonl", ".parquet", ".gz", ".zst", ".tar", ".tar.gz", ".ser", ".json", ".log",
    ".exe", ".pkl", ".csv", ".zip.gz",
)  # fmt: skip
_FORMS = (*recognition.READERS, *registry.FORMATS, "shiviz:no such", "mapped:{}", "avro")
_LINKS = ("/etc/passwd", "../../../../outside", "/", ".", "..", "_metadata")


@dataclass(frozen=True)
class Case:
    """One upload. kind: which fault it has. format: of the form, MAPPED for the saved mapping."""

    number: int
    kind: str
    name: str
    data: bytes
    format: str = ""


def case(format: str, number: int) -> Case:
    """Case ``number`` of a format."""
    chance = random.Random(f"{format} {number}")
    kind = _chosen_kind(chance)
    own = seeds(format)
    name, data, form = _FAULTS[kind][1](own[number % len(own)], chance)
    return Case(number, kind, name, data, form)


def kind_of(format: str, number: int) -> str:
    """Without making the case."""
    return _chosen_kind(random.Random(f"{format} {number}"))


def _chosen_kind(chance: random.Random) -> str:
    return chance.choices(list(_FAULTS), [weight for weight, _ in _FAULTS.values()])[0]


Made = tuple[str, bytes, str]


# --- inside files ---------------------------------------------------------------------------------


def _damaged(seed: Seed, chance: random.Random) -> Made:
    files = dict(seed.files)
    for _ in range(chance.choice((1, 1, 2))):
        path = _chosen(files, chance)
        [files[path]] = mutated([files[path]], 1, chance.randrange(2**40))
    return _packed(seed, files, chance)


def _huge(seed: Seed, chance: random.Random) -> Made:
    """Numbers in texts, lengths and counts in binary files, made huge."""
    files = dict(seed.files)
    path = _chosen(files, chance)
    data = files[path]
    numbers = list(re.finditer(rb"-?\d+(?:\.\d+)?", data))
    if numbers and data.isascii():
        for found in sorted(chance.sample(numbers, min(len(numbers), 2)), key=lambda m: -m.start()):
            data = data[: found.start()] + chance.choice(_HUGE) + data[found.end() :]
    else:
        at, patch = chance.randrange(len(data) + 1), chance.choice(_HUGE_BYTES)
        data = data[:at] + patch + data[at + len(patch) :]
    files[path] = data
    return _packed(seed, files, chance)


def _inside(seed: Seed, chance: random.Random) -> Made:
    """Damage behind compression, whose checksums then fit."""
    files = dict(seed.files)
    packed = [p for p in files if p.endswith((".delta", ".changelog", ".snapshot", ".zip", ".gz"))]
    if not packed:
        return _damaged(seed, chance)
    path = chance.choice(packed)
    files[path] = _repacked(files[path], path, chance)
    return _packed(seed, files, chance)


def _repacked(data: bytes, path: str, chance: random.Random) -> bytes:
    number = chance.randrange(2**40)
    if path.endswith(".gz"):
        return gzip.compress(next(mutated([gzip.decompress(data)], 1, number)), 1)
    if not path.endswith(".zip"):
        try:
            return lz4_stream(next(mutated([unpack(data, "lz4", 2**24).content], 1, number)))
        except Malformed:
            return next(mutated([data], 1, number))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        inner = {name: archive.read(name) for name in archive.namelist()}
    name = _chosen(inner, chance)
    [inner[name]] = mutated([inner[name]], 1, number)
    return _zip(list(inner.items()))


def _swapped(seed: Seed, chance: random.Random) -> Made:
    """Files under each other's names, left out, emptied, or out of another upload."""
    files = dict(seed.files)
    path, other = _chosen(files, chance), _chosen(files, chance)
    what = chance.choice(("swap", "gone", "empty", "foreign", "copy"))
    if what == "swap":
        files[path], files[other] = files[other], files[path]
    elif what == "gone" and len(files) > 1:
        for gone in chance.sample(sorted(files), chance.randint(1, len(files) - 1)):
            del files[gone]
    elif what == "foreign":
        foreign = chance.choice(seeds(chance.choice(FORMATS)))
        files |= foreign.files
        files[path] = foreign.files[_chosen(foreign.files, chance)]
    elif what == "copy":
        files[f"{path}{chance.randrange(10)}"] = files[other]
    else:
        files[path] = b""
    return _packed(seed, files, chance)


def _repeated(seed: Seed, chance: random.Random) -> Made:
    files = dict(seed.files)
    path = _chosen(files, chance)
    data = files[path]
    lines = data.splitlines(keepends=True)
    if data.isascii() and len(lines) > 1 and chance.random() < 0.7:
        at = chance.randrange(len(lines))
        lines[at : at + 1] = [lines[at]] * chance.choice((2, 50, 500))
        files[path] = b"".join(lines)
    else:
        files[path] = data * chance.choice((2, 3, 40 if len(data) < 5_000 else 4))
    return _packed(seed, files, chance)


# --- around files ---------------------------------------------------------------------------------


def _container(seed: Seed, chance: random.Random) -> Made:
    name, data, form = _packed(seed, dict(seed.files), chance, always=True)
    [data] = mutated([data], 1, chance.randrange(2**40))
    return name, data, form


def _cut(seed: Seed, chance: random.Random) -> Made:
    name, data, form = _packed(seed, dict(seed.files), chance)
    return name, data[: chance.randrange(len(data) + 1)], form


def _named(seed: Seed, chance: random.Random) -> Made:
    files = list(seed.files.items())
    for _ in range(chance.choice((1, 1, 3))):
        at = chance.randrange(len(files))
        files[at] = (chance.choice(_NAMES), files[at][1])
    return _archive(seed, files, chance)


def _linked(seed: Seed, chance: random.Random) -> Made:
    """Links, devices and the like, and a file behind a link."""
    files = list(seed.files.items())
    data = io.BytesIO()
    target = chance.choice(_LINKS)
    if chance.random() < 0.5:
        with zipfile.ZipFile(data, "w") as archive:
            for path, content in files:
                archive.writestr(path, content)
            info = zipfile.ZipInfo("link")
            mode = chance.choice((stat.S_IFLNK, stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO))
            info.external_attr = (mode | 0o777) << 16
            archive.writestr(info, target)
            archive.writestr("link/outside", b"x")
        return f"{seed.name}.zip", data.getvalue(), ""
    kinds = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, b"S", b"Z")
    with tarfile.open(fileobj=data, mode="w") as archive:
        for path, content in files[: chance.randrange(len(files) + 1)]:
            _add(archive, path, content)
        _add(archive, "link", b"", type=chance.choice(kinds), linkname=target)
        _add(archive, "link/outside", b"x")
    return f"{seed.name}.tar", data.getvalue(), ""


def _bomb(seed: Seed, chance: random.Random) -> Made:
    """More than the packed bytes allow, in one of the ways to pack it."""
    path = _chosen(seed.files, chance)
    what = chance.choice(("gz", "zst", "zip", "tar.gz", "lying zip", "overlap"))
    if what in ("gz", "zst"):
        return f"{seed.name}.{what}", _bombs()[what], seed.format
    if what == "tar.gz":
        return f"{seed.name}.tar.gz", _bombs()["tar.gz"], ""
    if what == "zip":
        return f"{seed.name}.zip", _bombs()["zip"].replace(b"NAME", path.encode()[-4:]), ""
    data = bytearray(_zip(list(seed.files.items())))
    entry = data.index(b"PK\x01\x02")
    if what == "lying zip":
        data[entry + 24 : entry + 28] = chance.choice((b"\xff\xff\xff\x7f", b"\1\0\0\0"))
        return f"{seed.name}.zip", bytes(data), ""
    places = [found.start() for found in re.finditer(b"PK\x01\x02", bytes(data))]
    for place in places:  # all entries are the first one
        data[place + 42 : place + 46] = data[entry + 42 : entry + 46]
    return f"{seed.name}.zip", bytes(data), ""


@cache
def _bombs() -> dict[str, bytes]:
    zeros = b"0" * BOMB_BYTES
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        _add(archive, "a/_metadata", zeros)
    return {
        "gz": gzip.compress(zeros, 1),
        "zst": zstandard.compress(zeros),
        "zip": _zip([("NAME", zeros)]),
        "tar.gz": gzip.compress(tar.getvalue(), 1),
    }


def _nested(seed: Seed, chance: random.Random) -> Made:
    name, data, form = _packed(seed, dict(seed.files), chance, always=True)
    for _ in range(chance.choice((1, 1, 2, 20))):
        pack = chance.choice((gzip.compress, zstandard.compress, None, None))
        if pack is not None:
            data, name, form = pack(data), f"{name}.gz", ""
            continue
        files = [(name, data)]
        if chance.random() < 0.5:
            files += list(seed.files.items())
        name, data, form = _archive(seed, files, chance)
    return name, data, form


def _suffixed(seed: Seed, chance: random.Random) -> Made:
    """Another name for the upload, or another format in the form."""
    name, data, form = _packed(seed, dict(seed.files), chance)
    if chance.random() < 0.5:
        return name.split(".")[0] + chance.choice(_SUFFIXES), data, form
    return chance.choice((name, *_NAMES)), data, chance.choice((*_FORMS, MAPPED))


def _twice(seed: Seed, chance: random.Random) -> Made:
    files = list(seed.files.items())
    path, data = chance.choice(files)
    other = chance.choice((path, path + "/x", "./" + path, path.upper(), path.replace("/", "\\")))
    return _archive(seed, [*files, (other, chance.choice((data, b"")))], chance)


def _many(seed: Seed, chance: random.Random) -> Made:
    """Thousands of tiny files, named as the format's own are."""
    path, data = chance.choice(list(seed.files.items()))
    shape = chance.choice(
        ("d{}/" + path, path + "{}", "{}/_metadata", "x/offsets/{}", "x/state/{}/0/1.delta")
    )
    tiny = chance.choice((b"", b"x", data[:200]))
    files = [(shape.format(n) if "{}" in shape else f"{n}", tiny) for n in range(MANY_FILES)]
    return _archive(seed, [*seed.files.items(), *files], chance)


def _deep(seed: Seed, chance: random.Random) -> Made:
    depth = chance.choice((10, 20, 31, 32, 33, 100, 400))
    folder = chance.choice(("d/", "offsets/", "..../", "state/0/"))
    files = [(folder * depth + path, data) for path, data in seed.files.items()]
    return _archive(seed, files, chance)


# --- packing --------------------------------------------------------------------------------------


def _chosen(files: dict[str, bytes], chance: random.Random) -> str:
    return chance.choice(sorted(files))


def _packed(
    seed: Seed, files: dict[str, bytes], chance: random.Random, always: bool = False
) -> Made:
    """A log as it is most of the time; several files as an archive."""
    if len(files) > 1 or len(seed.files) > 1 or always:
        return _archive(seed, list(files.items()), chance)
    [(name, data)] = files.items()
    how = chance.random()
    if how < 0.8:
        return name, data, seed.format
    if how < 0.9:
        return f"{name}.gz", gzip.compress(data, 1), seed.format
    return _archive(seed, [(name, data)], chance)


def _archive(seed: Seed, files: list[tuple[str, bytes]], chance: random.Random) -> Made:
    """A zip most of the time: names that it cannot hold are put into a tar."""
    if chance.random() < 0.6:
        try:
            return f"{seed.name}.zip", _zip(files), ""
        except (ValueError, UnicodeError):
            pass
    data = _tar(files, chance.choice((tarfile.PAX_FORMAT, tarfile.GNU_FORMAT)))
    how = chance.choice(("", "", ".gz", ".zst"))
    if how:
        data = gzip.compress(data, 1) if how == ".gz" else zstandard.compress(data)
    return f"{seed.name}.tar{how}", data, ""


def _zip(files: list[tuple[str, bytes]]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in files:
            info = zipfile.ZipInfo("")
            info.filename, info.compress_type = name, zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
    return data.getvalue()


def _tar(files: list[tuple[str, bytes]], format: int) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=format) as archive:
        for name, content in files:
            _add(archive, name, content)
    return data.getvalue()


def _add(archive: tarfile.TarFile, name: str, content: bytes, **fields) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for field, value in fields.items():
        setattr(info, field, value)
    archive.addfile(info, io.BytesIO(content))


_FAULTS: dict[str, tuple[float, Callable[[Seed, random.Random], Made]]] = {
    "damaged": (30, _damaged),
    "huge": (15, _huge),
    "inside": (8, _inside),
    "swapped": (8, _swapped),
    "repeated": (4, _repeated),
    "container": (8, _container),
    "cut": (4, _cut),
    "named": (5, _named),
    "linked": (4, _linked),
    "nested": (4, _nested),
    "suffixed": (4, _suffixed),
    "twice": (3, _twice),
    "deep": (2, _deep),
    "bomb": (0.5, _bomb),
    "many": (0.5, _many),
}
"""How often, compared with the others; bombs and many files take a second each."""
KINDS = tuple(_FAULTS)
