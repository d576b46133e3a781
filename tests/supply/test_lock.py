"""A requirement that is not locked, and a lock without hashes, are found."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.supply import lock
from tests.supply.requirements import FILES, ROOT, entries


@pytest.fixture
def root(tmp_path) -> Path:
    """A copy of the requirements and their locks."""
    for file in [*FILES, *FILES.values()]:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    return tmp_path


@pytest.fixture
def change(root) -> Callable[[str, str, str], None]:
    def change(file: str, pattern: str, text: str) -> None:
        changed, count = re.subn(pattern, text, (root / file).read_text(), flags=re.MULTILINE)
        assert count == 1, f"{pattern} is {count} times in {file}"
        (root / file).write_text(changed)

    return change


def version_of(name: str, file: str = "requirements.txt") -> str:
    return next(each.version for each in entries(file) if each.name == name)


def test_the_locks_fit_the_requirements(root):
    assert lock.faults() == []
    assert lock.faults(root) == []


@pytest.mark.parametrize(
    ("pattern", "text", "sentence"),
    [
        (
            r"^Django==\S+",
            "Django==5.2.0",
            r"Django==5\.2\.0, but deploy/requirements\.lock:\d+ has",
        ),
        (r"^Django==\S+", "Django>=5.2", r"Django>=5\.2 is not one version: write =="),
        (r"^Django==\S+", "Django==5.2.*", r"Django==5\.2\.\* is not one version"),
        (r"^(orjson==\S+).*", r"\1", r"orjson==\S+ does not say why"),
        (
            r"^nh3==.*",
            r"\g<0>\nnew-one==1.0  # why",
            r"deploy/requirements\.lock lacks new-one==1\.0",
        ),
        (r"^nh3==.*\n", "", r"nh3 is there for requirements\.txt, which does not name it"),
        (r"^-r deploy/.*\n", "", r"it has to include deploy/requirements\.lock"),
    ],
)
def test_a_requirement_that_its_lock_does_not_fit_is_named(root, change, pattern, text, sentence):
    change("requirements.txt", pattern, text)
    (fault,) = lock.faults(root)
    assert re.search(sentence, fault)
    assert fault.startswith(("requirements.txt:", "deploy/requirements.lock:"))


def test_a_requirement_of_the_tests_is_held_too(root, change):
    change("tests/requirements.txt", r"^pytest==\S+", "pytest==1.0")
    (fault,) = lock.faults(root)
    assert re.match(
        r"tests/requirements\.txt:\d+: pytest==1\.0, but tests/requirements\.lock", fault
    )


@pytest.mark.parametrize("hashes", ["", r" --hash=sha256:0123456789abcdef", " --hash=md5:01"])
def test_a_package_without_a_whole_hash_is_named(root, change, hashes):
    change("deploy/requirements.lock", r"^(amqp==\S+) \\\n(?:    --hash.*\n)+", rf"\1{hashes}\n")
    (fault,) = lock.faults(root)
    assert re.fullmatch(
        r"deploy/requirements\.lock:\d+: amqp==\S+ has no hash: run make lock\.", fault
    )


def test_locks_name_no_address():
    for file in FILES.values():
        assert "://" not in (ROOT / file).read_text()
