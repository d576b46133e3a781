"""The archive that the page makes of a folder, under Node, unpacked as an upload is."""

import json
import subprocess
from pathlib import Path

import pytest

from snapshots.readers.formats.unpacking.packages import PackageLimits, unpack
from tests.conftest import skip_or_fail
from tests.stack import ROOT
from webapp import machine

PACK = """
import { openAsBlob, readFileSync } from "node:fs";
import { tarOf } from "./static/js/lib/tar.js";
const parts = [];
for (const [name, path] of JSON.parse(readFileSync(0))) {
  parts.push({ file: await openAsBlob(name), path });
}
process.stdout.write(new Uint8Array(await tarOf(parts).arrayBuffer()));
"""
LONG = "deep/" * 20 + "n" * 60
TEN_OR_MORE = [f"f/{'x' * length}" for length in range(85, 110)]  # a length's own digits, too


@pytest.fixture(scope="module")
def node():
    return machine.find_node() or skip_or_fail("Node is missing: make test gets it or says how.")


def packed(node, files: dict[str, Path]) -> bytes:
    listed = json.dumps([[str(path), name] for name, path in files.items()])
    ran = subprocess.run(
        [node, "--no-warnings", "--input-type=module", "--eval", PACK],
        cwd=ROOT,
        input=listed.encode(),
        capture_output=True,
    )
    assert ran.returncode == 0, ran.stderr.decode()
    return ran.stdout


def require_the_same(node, files: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(packed(node, files))
    found = unpack(tmp_path / "a.tar", tmp_path / "out", PackageLimits())
    assert found.files == tuple(files)
    assert not found.skipped
    for name, path in files.items():
        assert (tmp_path / "out" / name).read_bytes() == path.read_bytes(), name


def test_a_folder_of_138_files_comes_out_as_it_went_in(node, shared_data, tmp_path):
    folder = shared_data / "flink" / "failures"
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    assert len(paths) > 100
    files = {f"failures/{path.relative_to(folder).as_posix()}": path for path in paths}
    require_the_same(node, files, tmp_path)


def test_names_that_are_long_or_not_ascii_and_files_of_any_size(node, tmp_path):
    files = {}
    for place, name in enumerate([LONG, "über/Prüfung", "snow/☃", "𝄞", "empty", *TEN_OR_MORE]):
        files[name] = tmp_path / str(place)
        files[name].write_bytes(b"x" * (place * 256))
    require_the_same(node, files, tmp_path)
