"""Add what listings name of Flink's folders to the files of an upload.

A listing that names an uploaded `_metadata`, in its size and its folder, lists the files beside it.
"""

import re
from collections.abc import Callable, Iterable

from snapshots.readers.engines.flink.files import CHECKPOINT_FOLDER, Files
from snapshots.readers.formats.listings import Listing, join, paths_in, read_listing

METADATA = "_metadata"
_MOST_TRIED = 2_000  # files
_NAMES = re.compile(
    rf"(?:^|/)(?:{CHECKPOINT_FOLDER.pattern})(?:/|$)|(?:^|/)[0-9a-f]{{32}}/(?:shared|taskowned)(?:/|$)"
)
_OF_SPARK = re.compile(r"(?:^|/)(?:state/\d+/|offsets/|commits/)")


def names_flink(paths: Iterable[str]) -> bool:
    """Tell whether a listing names a folder of Flink's, or a `_metadata`."""
    return any(
        _NAMES.search(path) or (path.rpartition("/")[2] == METADATA and not _OF_SPARK.search(path))
        for path in paths
    )


def add_listings(
    files: Files, head: Callable[[str], bytes]
) -> tuple[tuple[Listing, ...], dict[str, str]]:
    """Add the files that listings name.

    Return the listings, and for the folder of an uploaded `_metadata` what they call it.

    Args:
        head: returns the first bytes of a file.
    """
    tried = list(files.sizes)[:_MOST_TRIED]
    found = [path for path in tried if names_flink(paths_in(head(path)))]
    listings = tuple(read_listing(files.root, path) for path in found)
    if not listings:
        return (), {}
    sizes = join(listings)
    rough = {path for listing in listings for path in listing.rough}
    same = _same_folders(files, sizes, rough)
    for listed, own in same.items():
        sizes = {_moved(path, listed, own): size for path, size in sizes.items()}
        rough = {_moved(path, listed, own) for path in rough}
    empty = {folder for listing in listings for folder in listing.empty}
    files.add_listed(sizes, rough, empty)
    files.is_certain = all(listing.is_whole for listing in listings)
    return listings, {own: listed for listed, own in same.items()}


def _same_folders(files: Files, sizes: dict[str, int], rough: set[str]) -> dict[str, str]:
    """Return the folders of uploaded `_metadata` by the listed folders that are the same."""
    same: dict[str, str] = {}
    listed = [path for path in sizes if path.rpartition("/")[2] == METADATA]
    for path, size in files.sizes.items():
        folder, _, name = path.rpartition("/")
        if name != METADATA or path in sizes:
            continue
        fitting = [
            other.rpartition("/")[0]
            for other in listed
            if (sizes[other] == size or other in rough) and _may_be_same(folder, other)
        ]
        if len(fitting) == 1:
            same[fitting[0]] = folder
    return same


def _may_be_same(folder: str, listed: str) -> bool:
    """Tell whether a folder and that of a listed `_metadata` may be one, by their names."""
    name, other = folder.rpartition("/")[2], listed.rpartition("/")[0].rpartition("/")[2]
    return name == other or not CHECKPOINT_FOLDER.fullmatch(name)


def _moved(path: str, folder: str, target: str) -> str:
    prefix = f"{folder}/" if folder else ""
    if not path.startswith(prefix):
        return path
    return f"{target}/{path[len(prefix) :]}" if target else path[len(prefix) :]
