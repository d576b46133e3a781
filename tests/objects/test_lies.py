"""An object store behind a proxy that lies: each answer is right, or is refused with a sentence."""

import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from snapshots.store.errors import StoreDamaged, StoreUnreachable
from snapshots.store.objects import catalogues, client, far, seals
from snapshots.store.objects.far import far_file
from snapshots.store.objects.paths import ObjectPath, path_of, put_tree, remove_tree
from snapshots.store.publish import publish_objects
from tests.objects import lying

pytestmark = pytest.mark.slow

SIZE = 300_000  # bytes; five blocks of a seal
CONTENT = np.random.default_rng(1).integers(0, 255, SIZE, np.uint8).tobytes()
OTHER = np.random.default_rng(2).integers(0, 255, SIZE, np.uint8).tobytes()
LARGE = CONTENT * 60  # sent in two parts
NAMES = ("events/0.arrow", "events/1.arrow", "manifest.json")


@dataclass(frozen=True)
class Call:
    """Something that Cutline asks of a store.

    Args:
        ask: given the folder of a recording; returns the answer, or nothing.
        right: the answer if nobody lies; what the store has to hold, for a write.
        other: the path, below the bucket, of what a liar answers with.
        kept: reads what a write has left, past the proxy.
        is_published: whether the recording has a catalogue, and the process knows it.
    """

    ask: Callable[[ObjectPath], Any]
    right: Any = None
    other: str = "store/j2-1/events/0.arrow"
    kept: Callable[[ObjectPath], Any] | None = None
    is_published: bool = False


def part(folder: ObjectPath) -> ObjectPath:
    return folder / NAMES[0]


def read_far(folder: ObjectPath) -> bytes:
    return far_file(part(folder)).between(70_000, 200_000)


def read_open(folder: ObjectPath) -> bytes:
    with part(folder).open("rb") as file:
        return file.read()


def read_middle(folder: ObjectPath) -> bytes:
    with part(folder).open("rb") as file:
        file.seek(100_000)
        return file.read(5)


def names_below(folder: ObjectPath) -> list[str]:
    return sorted(path.key.removeprefix(f"{folder.key}/") for path in folder.rglob("*"))


def names_in(folder: ObjectPath) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def publish_and_open(folder: ObjectPath) -> list[tuple[str, int]]:
    publish_objects(folder)
    catalogues.forget_all()
    return opened(folder)


def opened(folder: ObjectPath) -> list[tuple[str, int]]:
    catalogues.load(folder.bucket, folder.key)
    entries = [catalogues.entry(folder.bucket, f"{folder.key}/{name}") for name in NAMES]
    return [(entry.size, len(entry.sums)) for entry in entries if entry]


def written_over(folder: ObjectPath) -> None:
    part(folder).write_bytes(OTHER[:-1])


def written_large(folder: ObjectPath) -> None:
    with (folder / "large").open("wb") as file:
        file.write(LARGE)


def bytes_left(folder: ObjectPath) -> bytes:
    return part(folder).read_bytes()


ENTRIES = [(SIZE, 20), (SIZE, 20), (len(b"{}"), 4)]
LIST = "?list-type=2&prefix=store%2Fj2-1%2F"
CALLS = {
    "whole": Call(bytes_left, CONTENT),
    "whole published": Call(bytes_left, CONTENT, is_published=True),
    "range": Call(read_far, CONTENT[70_000:200_000]),
    "range published": Call(read_far, CONTENT[70_000:200_000], is_published=True),
    "open": Call(read_open, CONTENT),
    "open published": Call(read_open, CONTENT, is_published=True),
    "seek": Call(read_middle, CONTENT[100_000:100_005]),
    "size": Call(lambda folder: part(folder).stat().st_size, SIZE, "store/j2-1/manifest.json"),
    "file": Call(lambda folder: part(folder).is_file(), True),
    "list": Call(names_below, sorted(NAMES), LIST),
    "empty list": Call(lambda folder: names_below(folder / "none"), [], LIST),
    "folder": Call(names_in, ["events", "manifest.json"], f"{LIST}&delimiter=%2F"),
    "is folder": Call(lambda folder: (folder / "events").is_dir(), True, LIST),
    "catalogue": Call(publish_and_open, ENTRIES, "store/j2-1/published"),
    "put": Call(written_over, OTHER[:-1], kept=bytes_left),
    "put in parts": Call(written_large, LARGE, kept=lambda folder: (folder / "large").read_bytes()),
    "delete": Call(lambda folder: part(folder).unlink(), sorted(NAMES[1:]), kept=names_below),
    "delete all": Call(remove_tree, [], kept=names_below),
}


@pytest.fixture
def stored(bucket, tmp_path) -> ObjectPath:
    """Return a folder with objects; another one beside it has the same names and other bytes."""
    for name, content in (("j1-1", CONTENT), ("j2-1", OTHER)):
        for file in NAMES[:2]:
            own = tmp_path / name / file
            own.parent.mkdir(parents=True, exist_ok=True)
            own.write_bytes(content)
        (tmp_path / name / NAMES[2]).write_bytes(b"{}" if name == "j1-1" else b'{"other": 1}')
        put_tree(tmp_path / name, path_of(f"{bucket}/store/{name}"))
        publish_objects(path_of(f"{bucket}/store/{name}"))
    (path_of(f"{bucket}/store/j1-1") / catalogues.CATALOGUE).unlink()
    catalogues.forget_all()
    return path_of(f"{bucket}/store/j1-1")


@pytest.fixture
def proxy(monkeypatch):
    """Put a proxy between this process and the store, which is in a hurry."""
    monkeypatch.setattr(client, "_SILENT", timedelta(seconds=0.8))
    monkeypatch.setattr(client, "_WRITE_SECONDS", 1)
    monkeypatch.setattr(client, "_RETRIES", {"max_retries": 1})
    true = os.environ["AWS_ENDPOINT_URL"]
    with lying.LyingProxy() as made:

        def between(is_between: bool) -> None:
            monkeypatch.setenv("AWS_ENDPOINT_URL", made.address if is_between else true)
            client._store.cache_clear()

        made.between = between
        yield made
        between(False)


def tried(proxy, folder: ObjectPath, call: Call, plan: lying.Plan) -> Any:
    """Return the answer through the proxy, or the error with a sentence."""
    if call.is_published:
        publish_objects(folder)
    else:
        catalogues.forget_all()
    plan.other = f"/{folder.bucket}{'' if call.other.startswith('?') else '/'}{call.other}"
    far._begin_anew()
    proxy.plan = plan
    proxy.between(True)
    try:
        return call.ask(folder)
    except (StoreUnreachable, StoreDamaged) as refused:
        return refused
    finally:
        proxy.between(False)
        catalogues.forget_all()


def require_right_or_refused(found: Any, folder: ObjectPath, call: Call) -> None:
    if isinstance(found, StoreUnreachable | StoreDamaged):
        assert "could be understood" not in str(found)
        print(type(found).__name__, found)
        return
    assert (call.kept(folder) if call.kept else found) == call.right


@pytest.mark.parametrize("lie", lying.LIES)
@pytest.mark.parametrize("name", CALLS)
def test_one_lie_is_seen(stored, proxy, name, lie):
    """Each request of a call gets a lie for an answer in turn."""
    call = CALLS[name]
    number = 1
    while True:
        plan = lying.Plan(lying.LIES[lie], number)
        found = tried(proxy, stored, call, plan)
        require_right_or_refused(found, stored, call)
        if plan.count < number:
            break
        again(stored)
        number += 1
    assert number > 1


def again(folder: ObjectPath) -> None:
    """Put what a call may have removed or written over."""
    for name, content in zip(NAMES, (CONTENT, CONTENT, b"{}"), strict=True):
        (folder / name).write_bytes(content)
    for name in ("large", catalogues.CATALOGUE):
        (folder / name).unlink()


@pytest.mark.parametrize("lie", lying.LIES)
@pytest.mark.parametrize("name", CALLS)
def test_a_proxy_that_always_lies_is_never_believed(stored, proxy, name, lie):
    call = CALLS[name]
    found = tried(proxy, stored, call, lying.Plan(lying.LIES[lie], 1, lies_on=True))
    require_right_or_refused(found, stored, call)


def test_a_part_with_other_bytes_of_the_same_length_is_damaged_and_named(stored):
    """Not a lie, but what was written over; the catalogue has its checksums."""
    publish_objects(stored)
    part(stored).write_bytes(CONTENT[:-1] + b"?")
    for read in (lambda: far_file(part(stored)).whole(), lambda: bytes_left(stored)):
        with pytest.raises(StoreDamaged, match="other bytes than were written"):
            read()
    assert far_file(part(stored)).between(0, 5) == CONTENT[:5]  # another block, which is right


def test_what_others_have_written_and_older_stores_are_read_without_checksums(
    stored, object_store, monkeypatch
):
    """They have no seal. Then a list, a length and a range can still be checked."""
    with monkeypatch.context() as older:
        older.setattr(seals, "METADATA", "something-else")
        older.setattr(catalogues, "_SCHEMA", catalogues._UNSEALED)
        for name, content in zip(NAMES, (CONTENT, CONTENT, b"{}"), strict=True):
            object_store.client.put_object(
                Bucket=stored.bucket, Key=f"{stored.key}/{name}", Body=content
            )
        publish_objects(stored)
    catalogues.forget_all()
    assert catalogues.fault(stored.bucket, stored.key) is None
    entry = catalogues.entry(stored.bucket, part(stored).key)
    assert (entry.size, entry.sums) == (SIZE, b"")
    for read in (bytes_left, read_open, lambda folder: far_file(part(folder)).whole()):
        assert read(stored) == CONTENT
    assert client.look(stored.bucket, part(stored).key).sums == b""


@pytest.mark.parametrize("size", [0, 1, 65_536, 65_537, 2**24, 2**24 + 1, 3 * 2**24 + 5])
def test_a_seal_is_the_same_for_bytes_and_for_a_file_and_finds_any_change(size):
    content = (OTHER * (size // SIZE + 1))[:size]
    seal, tag = seals.made("store/é", content)
    found, tag_of_file = seals.made("store/é", io.BytesIO(content))
    assert seal == found == seals.Seal.read(seal.text)
    assert tag == tag_of_file
    assert len(seal.text) < 2_000
    assert seals.fit(content, 0, size, seal.sums)
    for place in {0, size // 2, size - 1} & set(range(size)):
        changed = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        assert not seals.fit(changed, 0, size, seal.sums)


@pytest.mark.parametrize("text", ["", "1", "1.a.b.c", "1.a.5.?", "2.a.5.AAAA"])
def test_a_text_that_is_no_seal_counts_as_none(text):
    assert seals.Seal.read(text) is None


def test_blocks_grow_so_that_the_seal_of_any_object_fits_into_its_metadata():
    for size in (1, 2**24, 2**24 + 1, 10**10, 5 * 2**40):
        block = seals.block_of(size)
        assert -(-size // block) <= 256
        assert seals.widened(size - 1, size, size) == ((size - 1) // block * block, size)
