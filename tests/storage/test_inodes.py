"""A disk that takes no further file, though it has space for bytes."""

import os
import subprocess
from pathlib import Path

import pytest

from snapshots.models import Recording
from tests.web.given import a_file, uploads_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def few_inodes(tmp_path):
    """Mount a disk of 40 files, beneath the data of a test."""
    command = ["mount", "-t", "tmpfs", "-o", "mode=700,nr_inodes=40", "tmpfs", str(tmp_path)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("a small disk is mounted by root alone, and not on every machine")
    yield tmp_path
    subprocess.run(["umount", "--lazy", str(tmp_path)], capture_output=True)


def fill(paths: list[Path]) -> None:
    for path in paths:
        path.touch()


def test_an_upload_for_which_no_inode_is_left_is_refused_and_leaves_nothing(
    few_inodes, data_dir, api
):
    fillers = [data_dir / f"filler-{number}" for number in range(40)]
    with pytest.raises(OSError, match="No space left"):
        fill(fillers)
    refused = api.post("/api/recordings", {"file": a_file()})
    assert refused.status_code == 507
    assert "disk is full" in refused.json()["detail"]
    assert (uploads_of(data_dir), Recording.objects.count()) == ([], 0)
    fillers[0].unlink()
    assert api.post("/api/recordings", {"file": a_file()}).status_code == 202
    assert len(uploads_of(data_dir)) == 1
