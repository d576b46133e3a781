"""Ask Cutline whether savepoints can be restored, then let a real Flink do it, case by case.

    python -m bench.real_restarts FOLDER --flink PYTHON   runs the cases that FOLDER does not have
    python -m bench.real_restarts FOLDER                  lets Cutline answer them again
    python -m bench.real_restarts FOLDER --keep TESTS     writes the savepoints that the tests need

PYTHON and FOLDER are those of `bench/real_upgrades.py`. Each case is a copy of a savepoint or of a
retained checkpoint, healthy or damaged, and a job that is started from it. Damaged files are
answered by `check_checkpoint` and the answer page, changed jobs by `check_upgrade`. Further
arguments name savepoints. The table that is printed is that of docs/formats/flink.md.
"""

import argparse
import json
import os
import re
import shutil
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import django
from django.core.management import call_command

from bench.real_upgrades import MOST_SAID, Flink, NotDone
from bench.restart_cases import BASES, KEPT, WHOLE, Case, cases_of, is_kept
from bench.upgrade_cases import declared
from snapshots.domain.inventory.restore_check import NOT_KNOWN, NOT_RESTORABLE, RESTORABLE
from snapshots.domain.model.defects import InputRefused
from snapshots.management.commands.check_checkpoint import Command as CheckCheckpoint
from snapshots.management.commands.check_upgrade import Command as CheckUpgrade

RUNNING = "RUNNING"
RESTARTS, REFUSES = "restarts", "refuses"
UNREAD = "cannot be read"


def taken(base: str, flink: Flink | None, folder: Path) -> Path:
    """Return the folder with the `_metadata` of a savepoint, which is taken the first time.

    What a retained checkpoint needs lies beside it, too, and its files are named with whole paths.
    So it stays where it is, and a copy of its job's folder in ``whole``.
    """
    home, what = folder / "savepoints" / base, "checkpoint" if is_kept(base) else "savepoint"
    if flink and not (home / f"{what}.json").exists():
        flink.do(what, BASES[base], home)
    reply = home / f"{what}.json"
    said = json.loads(reply.read_text()) if reply.exists() else {}
    if not said.get("savepoint"):
        raise NotDone(f"There is no {what} {base}: {reply} says why.")
    at = Path(said["savepoint"].removeprefix("file:"))
    if is_kept(base) and not (home / "whole").exists():
        shutil.copytree(at.parent, home / "whole")
    return at


def run(base: str, case: Case, flink: Flink, folder: Path) -> None:
    """Copy and damage the savepoint, ask Cutline, and only then let Flink start the job."""
    at = taken(base, flink, folder)
    home = folder / "cases" / f"{base}-{case.name}"
    files = home / "files"
    shutil.rmtree(files, ignore_errors=True)
    if is_kept(base):
        shutil.rmtree(at.parent)
        shutil.copytree(folder / "savepoints" / base / "whole", at.parent)
        case.damage(at)
        shutil.copytree(at.parent, files / "job")
    else:
        shutil.copytree(at, files / "savepoint")
        at = files / "savepoint"
        case.damage(at)
    design = BASES[base] | case.changes.get(base, {})
    if case.changes and flink.do("describe", design, home)["status"] != "DESCRIBED":
        raise NotDone(f"{home.name} could not be described.")
    ask(base, case, folder)
    flink.do("start", design | {"savepoint": str(at)}, home)


def ask(base: str, case: Case, folder: Path) -> None:
    """Let Cutline answer, by the files or, of a changed job, by its list of uids."""
    home, printed = folder / "cases" / f"{base}-{case.name}", StringIO()
    files, design = home / "files", BASES[base] | case.changes.get(base, {})
    with suppress(SystemExit):
        if case.changes:
            savepoint = next(files.iterdir())
            job = json.loads((home / "uids.json").read_text())
            is_listed = "sql" in design and base not in WHOLE
            job = _as_before(job, savepoint) if is_listed else declared(job, design)
            (home / "job.json").write_text(json.dumps(job, indent=1))
            call_command(CheckUpgrade(), str(savepoint), str(home / "job.json"), "--json",
                         "--backend", design.get("backend", "hashmap"),
                         stdout=printed, stderr=printed)  # fmt: skip
        else:
            call_command(CheckCheckpoint(), str(files), "--json", stdout=printed, stderr=printed)
    if not case.changes:
        (home / "page.txt").write_text(page(files, folder / "scratch"))
    (home / "answer.json").write_text(printed.getvalue())


def _as_before(job: list[dict[str, Any]], savepoint: Path) -> list[dict[str, Any]]:
    """Return the list of uids of a query with the states that its operators had in a savepoint."""
    printed = StringIO()
    call_command(CheckUpgrade(), str(savepoint), "--list", stdout=printed)
    states = {one["operatorId"]: one for one in json.loads(printed.getvalue())}
    for vertex in job:
        for operator in vertex["operators"]:
            before = states.get(operator["operatorId"], {})
            operator |= {name: before.get(name, []) for name in ("states", "timers")}
    return job


def page(files: Path, scratch: Path) -> str:
    """Return the first sentence of the answer page about an upload, or why it is refused."""
    from snapshots.answers.first_answer import of_inventory  # needs Django's settings
    from snapshots.readers.engines.registry import READERS
    from snapshots.store.inventory.reading import StoredInventory
    from snapshots.store.inventory.writing import write_inventory

    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    try:
        write_inventory(scratch, READERS["flink"].read(files))
    except InputRefused as refused:
        return f"{UNREAD}: {refused}"
    return of_inventory(StoredInventory(scratch)).subjects[0].sentences[0].text


def page_says(sentence: str) -> str:
    """Return what the first sentence of the answer page says about a restore."""
    if sentence.startswith(UNREAD):
        return UNREAD
    if "cannot be restored" in sentence:
        return NOT_RESTORABLE
    return RESTORABLE if re.match(r"All files of .* are there\.", sentence) else NOT_KNOWN


def row(base: str, case: Case, folder: Path) -> tuple[str, bool]:
    """Return the case as a row of the table, and whether Cutline and Flink agree."""
    home = folder / "cases" / f"{base}-{case.name}"
    told = _told((home / "answer.json").read_text(), case)
    expected = RESTARTS if told in ("restored", RESTORABLE) else REFUSES
    seen = json.loads((home / "start.json").read_text())
    did = RESTARTS if seen["status"] == RUNNING else REFUSES
    agrees = expected == did and told != NOT_KNOWN
    is_open = told == NOT_KNOWN
    if not case.changes:
        agrees = agrees and page_says((home / "page.txt").read_text()) == told
    said = re.sub(
        r"(file:)?/\S+", "…", seen["causes"][-1].splitlines()[0] if seen["causes"] else ""
    )
    cells = (
        base,
        case.told,
        told,
        did,
        said[:MOST_SAID].replace("|", "\\|"),
        "yes" if agrees else "not told" if is_open else "**no**",
    )
    return f"| {' | '.join(cells)} |", agrees


def _told(answer: str, case: Case) -> str:
    """Return Cutline's word; a `_metadata` that cannot be read has a sentence instead of JSON."""
    if not answer.startswith("{"):
        return UNREAD
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
    for case in cases_of(base):
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
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    django.setup()
    flink = Flink(options.flink, folder) if options.flink else None
    agreeing = asked = 0
    for base in options.bases:
        for case in cases_of(base):
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
        if options.keep and base in KEPT:
            keep(base, folder, options.keep)
    print(f"\n{agreeing} of {asked} cases agree")
    if flink:
        flink.end()


if __name__ == "__main__":
    main()
