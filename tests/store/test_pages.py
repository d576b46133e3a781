"""Pages of mapped files are released, and can be read again."""

from pathlib import Path

import numpy as np
import pytest

from snapshots.store import pages


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> Path:
    """A file larger than what may stay in memory."""
    file = tmp_path_factory.mktemp("pages") / "large"
    with file.open("wb") as sink:
        for number in range(pages._MOST // 2**20 + 20):
            sink.write(bytes([number % 251]) * 2**20)
    return file


def test_pages_are_released_once_they_are_many_and_can_be_read_again(large, monkeypatch):
    monkeypatch.setattr(pages, "_released_at", 0.0)
    values = np.frombuffer(pages.map_file(large), np.uint8)
    total = int(values[:: 2**12].sum())
    assert pages._resident_files() > pages._MOST
    assert pages.release_pages(now=10.0)
    assert pages._resident_files() < pages._MOST
    assert not pages.release_pages(now=20.0)
    assert int(values[:: 2**12].sum()) == total


def test_pages_are_released_at_most_once_a_second(large, monkeypatch):
    monkeypatch.setattr(pages, "_released_at", 0.0)
    values = np.frombuffer(pages.map_file(large), np.uint8)
    values[:: 2**12].sum()
    assert pages.release_pages(now=10.0)
    values[:: 2**12].sum()
    assert not pages.release_pages(now=10.5)
    assert pages.release_pages(now=11.5)


def test_a_file_is_mapped_only_as_long_as_something_refers_to_it(tmp_path):
    file = tmp_path / "small"
    file.write_bytes(b"12345678")
    before = len(pages._maps)
    values = np.frombuffer(pages.map_file(file), np.int64)
    assert len(pages._maps) == before + 1
    del values
    assert len(pages._maps) == before


def test_files_are_mapped_one_behind_another_and_released_together(tmp_path):
    contents = [bytes([n]) * size for n, size in enumerate((1, 5000, pages.mmap.PAGESIZE, 77))]
    files = [tmp_path / str(number) for number in range(len(contents))]
    memory = pages.MappedFiles.reserve(sum(pages.pages_of(len(item)) for item in contents))
    views, begin = [], 0
    for file, content in zip(files, contents, strict=True):
        file.write_bytes(content)
        views.append(memory.add(file, begin, len(content)))
        begin += pages.pages_of(len(content))
    assert [bytes(view) for view in views] == contents
    memory.madvise(pages.mmap.MADV_DONTNEED)
    assert [bytes(view) for view in views] == contents
    before = len(pages._maps)
    del memory
    assert len(pages._maps) == before
    del views
    assert len(pages._maps) == before - 1


@pytest.mark.parametrize(("size", "begin"), [(4, 0), (6, 0), (0, 0), (5, 1), (5, 2**20)])
def test_a_file_that_has_no_place_in_memory_is_refused(tmp_path, size, begin):
    file = tmp_path / "file"
    file.write_bytes(b"12345")
    with pytest.raises(ValueError, match="it "):
        pages.MappedFiles.reserve(2**16).add(file, begin, size)
