"""Ask Cutline whether savepoints can be restored, then let a real Flink do it, case by case.

    python -m bench.real_restarts FOLDER --flink PYTHON   runs the cases that FOLDER does not have
    python -m bench.real_restarts FOLDER                  lets Cutline answer them again
    python -m bench.real_restarts FOLDER --keep TESTS     writes the savepoints that the tests need

PYTHON and FOLDER are those of `bench/real_upgrades.py`. Each case is a copy of a savepoint, healthy
or damaged, and a job that is started from it. Damaged files are answered by `check_checkpoint`,
changed jobs by `check_upgrade`. The table that is printed is that of docs/formats/flink.md.
"""

import argparse
import json
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from django.core.management import call_command

from bench.real_upgrades import MOST_SAID, Flink, NotDone
from bench.upgrade_cases import BASES as UPGRADED
from bench.upgrade_cases import TOTALS_OF_DOUBLES, declared
from snapshots.domain.inventory.restore_check import NOT_KNOWN
from snapshots.management.commands.check_checkpoint import Command as CheckCheckpoint
from snapshots.management.commands.check_upgrade import Command as CheckUpgrade

ALL_IN_FILES = {
    "settings": {
        "execution.checkpointing.storage": "filesystem",
        "execution.checkpointing.data-inline-threshold": "0 b",
    }
}
BASES: dict[str, dict[str, Any]] = {
    "sql": UPGRADED["sql"] | ALL_IN_FILES | {"seconds": 8},
    "python": UPGRADED["python-bytes"] | ALL_IN_FILES,
}
RUNNING = "RUNNING"
RESTARTS, REFUSES = "restarts", "refuses"


def _largest(savepoint: Path) -> Path:
    """Return the largest file of state; the first one by name of several."""
    files = sorted(file for file in savepoint.iterdir() if file.name != "_metadata")
    return max(files, key=lambda file: file.stat().st_size)


def _cut(file: Path, left: int) -> None:
    file.write_bytes(file.read_bytes()[:left])


@dataclass(frozen=True)
class Case:
    """What is done to a copy of a savepoint, and how the job differs that starts from it.

    Attributes:
        changes: by which the design of the new job differs; `check_upgrade` answers if there are.
    """

    name: str
    told: str
    damage: Callable[[Path], object] = lambda savepoint: None
    changes: dict[str, dict[str, Any]] = field(default_factory=dict)


CASES = (
    Case("same", "nothing"),
    Case("left-over", "a file that nothing names", lambda at: (at / "left").write_bytes(b"x")),
    Case("file-removed", "the largest file of state removed", lambda at: _largest(at).unlink()),
    Case("file-halved", "its second half cut off", lambda at: _cut(
        _largest(at), _largest(at).stat().st_size // 2)),
    Case("last-byte", "its last byte cut off", lambda at: _cut(_largest(at), -1)),
    Case("file-empty", "all its bytes cut off", lambda at: _cut(_largest(at), 0)),
    Case("metadata-halved", "second half of `_metadata` cut off", lambda at: _cut(
        at / "_metadata", (at / "_metadata").stat().st_size // 2)),
    Case("metadata-empty", "`_metadata` empty", lambda at: _cut(at / "_metadata", 0)),
    Case("maximum", "maximum parallelism 8 → 16", changes={
        "sql": {"max_parallelism": 16}, "python": {"max_parallelism": 16}}),
    Case("job", "in SQL the sum is of doubles; in Python, operator `account` removed", changes={
        "sql": UPGRADED["sql"]
        | {"sql": UPGRADED["sql"]["sql"] | {
            "tables": [UPGRADED["sql"]["sql"]["tables"][0], TOTALS_OF_DOUBLES],
            "insert": UPGRADED["sql"]["sql"]["insert"].replace("SUM(n)", "SUM(CAST(n AS DOUBLE))"),
        }} | {"seconds": 8},
        "python": {"order": ["count"]}}),
)  # fmt: skip


def run(base: str, case: Case, flink: Flink, folder: Path) -> None:
    """Copy and damage the savepoint, ask Cutline, and only then let Flink start the job."""
    taken = folder / "savepoints" / base
    if not list(taken.glob("savepoint/*/_metadata")):
        flink.do("savepoint", BASES[base], taken)
    found = list(taken.glob("savepoint/*/_metadata"))
    if len(found) != 1:
        raise NotDone(f"There is no savepoint {base}: {taken / 'savepoint.json'} says why.")
    home = folder / "cases" / f"{base}-{case.name}"
    copy = home / "files" / "savepoint"
    shutil.copytree(found[0].parent, copy, dirs_exist_ok=True)
    case.damage(copy)
    design = BASES[base] | case.changes.get(base, {})
    if case.changes and flink.do("describe", design, home)["status"] != "DESCRIBED":
        raise NotDone(f"{home.name} could not be described.")
    ask(base, case, folder)
    flink.do("start", design | {"savepoint": str(copy)}, home)


def ask(base: str, case: Case, folder: Path) -> None:
    """Let Cutline answer, by the files or, of a changed job, by its list of uids."""
    home = folder / "cases" / f"{base}-{case.name}"
    savepoint, printed = home / "files" / "savepoint", StringIO()
    with suppress(SystemExit):
        if case.changes:
            job = json.loads((home / "uids.json").read_text())
            job = declared(job, BASES[base] | case.changes[base])
            (home / "job.json").write_text(json.dumps(job, indent=1))
            call_command(CheckUpgrade(), str(savepoint), str(home / "job.json"), "--json",
                         "--backend", "hashmap", stdout=printed, stderr=printed)  # fmt: skip
        else:
            call_command(
                CheckCheckpoint(), str(savepoint), "--json", stdout=printed, stderr=printed
            )
    (home / "answer.json").write_text(printed.getvalue())


def row(base: str, case: Case, folder: Path) -> tuple[str, bool]:
    """Return the case as a row of the table, and whether Cutline and Flink agree."""
    home = folder / "cases" / f"{base}-{case.name}"
    told = _told((home / "answer.json").read_text(), case)
    expected = RESTARTS if told in ("restored", "restorable") else REFUSES
    seen = json.loads((home / "start.json").read_text())
    did = RESTARTS if seen["status"] == RUNNING else REFUSES
    agrees = expected == did and told != NOT_KNOWN
    said = re.sub(
        r"(file:)?/\S+", "…", seen["causes"][-1].splitlines()[0] if seen["causes"] else ""
    )
    cells = (
        base,
        case.told,
        told,
        did,
        said[:MOST_SAID].replace("|", "\\|"),
        "yes" if agrees else "**no**",
    )
    return f"| {' | '.join(cells)} |", agrees


def _told(answer: str, case: Case) -> str:
    """Return Cutline's word; a `_metadata` that cannot be read has a sentence instead of JSON."""
    if not answer.startswith("{"):
        return "cannot be read"
    told: dict[str, str] = json.loads(answer)
    return told["without_allow"] if case.changes else told["answer"]


def keep(base: str, folder: Path, tests: Path) -> None:
    """Write the healthy savepoint as a package, and what Flink did with each damaged copy."""
    tests.mkdir(parents=True, exist_ok=True)
    files = folder / "cases" / f"{base}-same" / "files"
    with ZipFile(tests / f"{base}.zip", "w", ZIP_DEFLATED) as package:
        for file in sorted(files.rglob("*")):
            if file.is_file():
                package.write(file, file.relative_to(files).as_posix())
    did = {}
    for case in CASES:
        seen = folder / "cases" / f"{base}-{case.name}" / "start.json"
        if not case.changes:
            is_up = json.loads(seen.read_text())["status"] == RUNNING
            did[case.name] = RESTARTS if is_up else REFUSES
    (tests / f"{base}.json").write_text(json.dumps(did, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("bases", nargs="*", default=[*BASES])
    parser.add_argument("--flink", metavar="PYTHON")
    parser.add_argument("--keep", metavar="TESTS", type=Path)
    options = parser.parse_intermixed_args()
    folder = options.folder.resolve()
    flink = Flink(options.flink, folder) if options.flink else None
    agreeing = asked = 0
    for base in options.bases:
        for case in CASES:
            asked += 1
            try:
                if flink and not (folder / "cases" / f"{base}-{case.name}/start.json").exists():
                    run(base, case, flink, folder)
                else:
                    ask(base, case, folder)
                text, agrees = row(base, case, folder)
                agreeing += agrees
                print(text, flush=True)
            except NotDone as problem:
                print(f"{base}-{case.name}: {problem}", flush=True)
        if options.keep:
            keep(base, folder, options.keep)
    print(f"\n{agreeing} of {asked} cases agree")
    if flink:
        flink.end()


if __name__ == "__main__":
    main()
