"""A migration that stands is never changed: who has applied it does not apply it again."""

import hashlib
from pathlib import Path

import pytest

from tests.stack import ROOT

STANDING = ROOT / "tests/data/upgrades/migrations.sha256"
FOLDERS = ("snapshots", "webapp")


def migrations() -> dict[str, str]:
    """Return the SHA-256 of each migration by its path."""
    paths = (path for folder in FOLDERS for path in (ROOT / folder).rglob("migrations/0*.py"))
    return {path.relative_to(ROOT).as_posix(): digest(path) for path in paths}


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_migration_that_stands_is_never_changed():
    standing = dict(line.split()[::-1] for line in STANDING.read_text().splitlines())
    now = migrations()
    changed = [path for path, digest in standing.items() if now.get(path) != digest]
    assert not changed, "Write another migration: installations have applied these."
    new = sorted(now.keys() - standing.keys())
    if new:
        pytest.fail(f"Add to {STANDING.name}: " + "; ".join(f"{now[path]}  {path}" for path in new))
