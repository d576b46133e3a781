"""Write the locks of the requirements with uv: every package, with the hashes of all its files.

    python -m tests.supply.lock                             what `make lock` does first
    python -m tests.supply.lock --upgrade-package grpcio    uv's own options

A version that is in the lock stays if it fits. One lock serves each Python from 3.11 on, on every
platform, and names no registry. The lock of the tests lists what it adds to that of Cutline.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.supply.requirements import FILES, ROOT, Entry, entries, includes

UV = [
    *(
        sys.executable,
        "-m",
        "uv",
        "pip",
        "compile",
        "--quiet",
        "--universal",
        "--no-emit-index-url",
    ),
    *("--python-version", "3.11", "--generate-hashes", "--custom-compile-command", "make lock"),
]


def write_locks(options: list[str]) -> int:
    """Write each lock, and return the exit code of uv."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        for file, lock in FILES.items():
            _copy_without_locks(file, folder)
            (folder / lock).parent.mkdir(exist_ok=True)
            if (ROOT / lock).exists():
                shutil.copy(ROOT / lock, folder / lock)
        above: list[str] = []
        for file, lock in FILES.items():
            ran = subprocess.run([*UV, *options, *above, file, "--output-file", lock], cwd=folder)
            if ran.returncode:
                return ran.returncode
            above += ["--constraints", lock]
            above += [f"--no-emit-package={each.name}" for each in entries(lock, folder)]
        for lock in FILES.values():
            shutil.copy(folder / lock, ROOT / lock)
    return 0


def _copy_without_locks(file: str, folder: Path) -> None:
    """Copy the requirements alone: the lock that they include is what is to be written."""
    text = re.sub(r"^-r \S+\.lock\n", "", (ROOT / file).read_text(), flags=re.MULTILINE)
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_text(text)


def faults(root: Path = ROOT) -> list[str]:
    """Return in which way requirements and locks do not fit, a sentence each; asks nobody."""
    found: list[str] = []
    locked: dict[str, Entry] = {}
    for file, lock in FILES.items():
        here = entries(lock, root)
        locked |= {each.name: each for each in here}
        if not any((root / file).parent / each == root / lock for each in includes(file, root)):
            found.append(f"{file}: it has to include {lock} with -r.")
        found += [_fault_of_request(each, locked, lock) for each in entries(file, root)]
        found += [_fault_of_lock(each) for each in here]
        found += _not_asked_for(file, lock, root)
    return [fault for fault in found if fault]


def _fault_of_request(asked: Entry, locked: dict[str, Entry], lock: str) -> str:
    if not asked.version:
        return f"{asked.place}: {asked.requirement} is not one version: write ==."
    if not asked.why:
        return f"{asked.place}: {asked.requirement} does not say why, after two blanks and #."
    if asked.name not in locked:
        return f"{asked.place}: {lock} lacks {asked.requirement}: run make lock."
    there = locked[asked.name]
    if there.version != asked.version:
        has = f"{there.place} has {there.version}"
        return f"{asked.place}: {asked.requirement}, but {has}: run make lock."
    return ""


def _fault_of_lock(locked: Entry) -> str:
    if locked.version and locked.hashes:
        return ""
    lacks = "hash" if locked.version else "version"
    return f"{locked.place}: {locked.requirement} has no {lacks}: run make lock."


def _not_asked_for(file: str, lock: str, root: Path) -> list[str]:
    """Return the packages of which the lock says that a file asks for them, which it does not."""
    asked = {each.name for each in entries(file, root)}
    blocks = re.findall(r"^([\w.-]+)==.*\n((?: .*\n)*)", (root / lock).read_text(), re.MULTILINE)
    named = {name for name, block in blocks if f" -r {file}\n" in block}
    return [
        f"{lock}: {name} is there for {file}, which does not name it: run make lock."
        for name in sorted(named - asked)
    ]


if __name__ == "__main__":
    sys.exit(write_locks(sys.argv[1:]))
