"""Store URLs and names of recordings: none leads out of the store."""

from pathlib import Path

import pytest

from snapshots.store.locations import Store


@pytest.mark.parametrize(
    ("url", "root"),
    [
        ("file:///var/cut%20line", Path("/var/cut line")),
        ("file:/var/store", Path("/var/store")),
        ("file://localhost/var/store", Path("/var/store")),
        ("file:store", Path.cwd() / "store"),
    ],
)
def test_a_file_url_is_a_folder(url, root):
    assert Store.at(url).root == root


@pytest.mark.parametrize(
    "url", ["s3:///x", "ftp://bucket/x", "/var/store", "file://host/x", "file:", ""]
)
def test_any_other_url_is_refused_with_a_sentence(url):
    with pytest.raises(ValueError, match="STORE_URL"):
        Store.at(url)


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "/etc", "a\x00", "7.tmp-1", "ü", "a\n"])
def test_a_name_that_could_lead_out_of_the_store_is_refused(name, tmp_path):
    with pytest.raises(ValueError, match="no name of a stored recording"):
        Store(tmp_path).folder(name)


def test_two_temporary_folders_never_meet(tmp_path):
    store = Store(tmp_path)
    assert store.temporary("7") != store.temporary("7")
