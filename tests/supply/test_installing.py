"""What is installed is what the lock has, with its hashes."""

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.supply import installed
from tests.supply.requirements import ROOT

INSTALLED = ".venv/lib/*/site-packages/*-1.0.dist-info"

pytestmark = pytest.mark.slow


def write_wheel(folder: Path, name: str) -> str:
    """Write a wheel of version 1.0 without code, and return its SHA-256."""
    path = folder / f"{name}-1.0-py3-none-any.whl"
    about = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder with venv.sh, an environment, and a place for wheels."""
    tree = tmp_path_factory.mktemp("tree")
    for folder in ("webapp", "deploy", "wheels"):
        (tree / folder).mkdir()
    (tree / "webapp/venv.sh").write_bytes((ROOT / "webapp/venv.sh").read_bytes())
    subprocess.run([sys.executable, "-m", "venv", tree / ".venv"], check=True)
    (tree / "requirements.txt").write_text("-r deploy/requirements.lock\nthing==1.0  # a thing\n")
    return tree


@pytest.fixture
def tree(made) -> Path:
    """The same, in which nothing is installed."""
    for path in [*made.glob(INSTALLED), *made.glob("wheels/*")]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return made


def install(tree: Path, hashes: dict[str, str]) -> subprocess.CompletedProcess[str]:
    locked = "".join(
        f"{name}==1.0 \\\n    --hash=sha256:{each}\n    # via -r requirements.txt\n"
        for name, each in hashes.items()
    )
    (tree / "deploy/requirements.lock").write_text(locked)
    return subprocess.run(
        ["bash", tree / "webapp/venv.sh", "requirements.txt"],
        env=os.environ | {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tree / "wheels")},
        capture_output=True,
        text=True,
    )


def packages(tree: Path) -> set[str]:
    return {path.name for path in tree.glob(INSTALLED)}


@pytest.mark.parametrize("changed", ["thing", "setuptools"])
def test_a_file_with_another_hash_is_not_installed(tree, changed):
    hashes = {name: write_wheel(tree / "wheels", name) for name in ("setuptools", "thing")}
    ran = install(tree, hashes | {changed: "0" * 64})
    assert ran.returncode == 1
    assert "THESE PACKAGES DO NOT MATCH THE HASHES" in ran.stderr
    assert "The packages of requirements.txt could not be installed" in ran.stderr
    assert f"{changed}-1.0.dist-info" not in packages(tree)


def test_a_package_that_the_lock_lacks_is_not_installed(tree):
    hashes = {name: write_wheel(tree / "wheels", name) for name in ("setuptools", "thing")}
    ran = install(tree, {"setuptools": hashes["setuptools"]})
    assert ran.returncode == 1
    assert "Hashes are required" in ran.stderr
    assert "thing-1.0.dist-info" not in packages(tree)


def test_what_the_lock_has_is_installed(tree):
    ran = install(
        tree, {name: write_wheel(tree / "wheels", name) for name in ("setuptools", "thing")}
    )
    assert ran.returncode == 0, ran.stderr
    assert packages(tree) >= {"setuptools-1.0.dist-info", "thing-1.0.dist-info"}


def test_another_version_than_the_installed_one_is_found(tmp_path):
    (tmp_path / "tests").mkdir()
    requirements = tmp_path / "tests/requirements.txt"
    requirements.write_text(f"orjson==0.1 --hash=sha256:{'0' * 64}\n")
    (fault,) = installed.faults(tmp_path)
    assert fault.startswith("What is installed is not what the locks have")
    assert "orjson" in fault
