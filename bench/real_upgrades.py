"""Ask Cutline whether a new job takes a savepoint, then let a real Flink do it, case by case.

    python -m bench.real_upgrades FOLDER --flink PYTHON   runs the cases that FOLDER does not have
    python -m bench.real_upgrades FOLDER                  lets Cutline answer them again
    python -m bench.real_upgrades FOLDER --keep TESTS     writes what the tests need

PYTHON is the interpreter of a virtual environment with `apache-flink` (docs/real-flink.md), and
JAVA_HOME must be set. FOLDER gets the savepoints and, for each case, the descriptions of the new
job, Cutline's answers and what Flink did after them. Further arguments name cases. The table that
is printed is that of docs/formats/flink.md.
"""

import argparse
import json
import re
import shutil
import subprocess
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

from django.core.management import call_command

from bench.upgrade_cases import BASES, CASES, IDS_BY_HAND, Case, declared, design_name
from snapshots.domain.inventory.upgrade.answer import NOT_KNOWN
from snapshots.domain.inventory.upgrade.states import SOURCE_READER
from snapshots.management.commands.check_upgrade import Command

JOBS = Path(__file__).with_name("upgrade_jobs.py")
DESCRIPTIONS = ("job", "plan", "execution-plan")
ALLOWS = ("without_allow", "with_allow")
POSITION = "position"  # how the notes call the state of a source
MOST_SAID = 200  # letters of an exception
LONGEST = 300  # seconds of one case
Design = dict[str, Any]


class NotDone(Exception):
    """A case that could not be run to its end."""


@dataclass
class Outcome:
    """What Flink did with the new job.

    Attributes:
        word: ``restored``, ``started-with-loss`` or ``refused``.
        lost: the states that did not come back, as ``operator.state``.
        said: the innermost message of the exception.
    """

    word: str
    lost: list[str] = field(default_factory=list)
    said: str = ""


class Flink:
    """A Python with PyFlink that runs one job after the other, in one JVM."""

    def __init__(self, python: str, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "log.txt"
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [python, str(JOBS)], stdin=subprocess.PIPE, stdout=log, stderr=log, text=True
            )

    def do(self, what: str, design: Design, folder: Path) -> dict[str, Any]:
        """Let it do something, and return its reply. What is printed goes to the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        reply, begin = folder / f"{what}.json", self.log.stat().st_size
        asked = {"do": what, "design": design, "folder": str(folder), "reply": str(reply)}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        until = time.monotonic() + LONGEST
        while not reply.exists():
            if self.process.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"{reply} was not written: see {self.log}.")
            time.sleep(0.1)
        printed = self.log.read_bytes()[begin:].decode("utf-8", "replace")
        (folder / f"{what}.txt").write_text(printed)
        return json.loads(reply.read_text())

    def end(self) -> None:
        """End the process and its JVM."""
        self.process.terminate()
        self.process.wait()


def savepoint_of(base: str, flink: Flink | None, folder: Path) -> Path:
    """Return the folder of a savepoint, which is taken the first time."""
    home = folder / "savepoints" / base
    if flink and not list(home.glob("savepoint/*/_metadata")):
        flink.do("describe", BASES[base], home)
        flink.do("savepoint", BASES[base], home)
    found = list(home.glob("savepoint/*/_metadata"))
    if len(found) != 1:
        raise NotDone(f"There is no savepoint {base}: {home / 'savepoint.json'} says why.")
    return found[0].parent


def run(case: Case, flink: Flink, folder: Path) -> None:
    """Describe the new job, ask Cutline, and only then let Flink start it.

    Where Flink takes the savepoint without *allowNonRestoredState*, it is not tried with it.
    """
    savepoint = savepoint_of(case.base, flink, folder)
    home = folder / "cases" / case.name
    design = BASES[case.base] | case.changes
    if design.get("hash_of") == IDS_BY_HAND:
        design["hash_of"] = _ids(savepoint.parent.parent)
    if (described := flink.do("describe", design, home))["status"] != "DESCRIBED":
        raise NotDone(f"{case.name} could not be described: {described['causes']}")
    ask(case, folder)
    for allow in ALLOWS:
        asked = design | {"savepoint": str(savepoint), "allow": allow == "with_allow"}
        if flink.do("start", asked, home / allow)["status"] == "RUNNING":
            break


def ask(case: Case, folder: Path) -> None:
    """Let Cutline answer, by the list of uids, by the plan and by the execution plan."""
    home = folder / "cases" / case.name
    savepoint = savepoint_of(case.base, None, folder)
    design = BASES[case.base] | case.changes
    job = json.loads((home / "uids.json").read_text())
    (home / "job.json").write_text(json.dumps(declared(job, design), indent=1))
    backend = design.get("backend", "hashmap")
    for name in DESCRIPTIONS:
        options = ["--no-uids"] if name == "execution-plan" and _sets_no_uids(case) else []
        printed = StringIO()
        with suppress(SystemExit):
            call_command(
                Command(), str(savepoint), str(home / f"{name}.json"), "--json",
                "--backend", backend, *options, stdout=printed,
            )  # fmt: skip
        (home / f"answer-{name}.json").write_text(printed.getvalue())


def _sets_no_uids(case: Case) -> bool:
    design = BASES[case.base] | case.changes
    without = not design["sql"].get("settings") if "sql" in design else not design.get("uids", True)
    return without and design.get("chaining", True) and "hash_of" not in design


def _ids(base: Path) -> dict[str, str]:
    """Return the ids of the operators, by their names in the design."""
    vertices = json.loads((base / "uids.json").read_text())
    operators = [operator for vertex in vertices for operator in vertex["operators"]]
    return {design_name(each["name"]): each["operatorId"] for each in operators}


# --- what Flink did -------------------------------------------------------------------------------


def outcome(case: Case, folder: Path, allow: str) -> Outcome:
    """Return what Flink did, ``allow`` being "without_allow" or "with_allow"."""
    home = folder / "cases" / case.name / allow
    if not (home / "start.json").exists():
        return outcome(case, folder, "without_allow")  # it is not tried again with less care
    seen = json.loads((home / "start.json").read_text())
    said = _short(seen["causes"])
    if seen["status"] != "RUNNING":
        return Outcome("refused", [], said)
    before = folder / "savepoints" / case.base
    if "sql" in BASES[case.base]:
        lost = _lost_rows((before / "savepoint.txt").read_text(), (home / "start.txt").read_text())
    else:
        lost = _lost(before, home)
    return Outcome("started-with-loss" if lost else "restored", lost, said)


def _lost(before: Path, after: Path) -> list[str]:
    """Return the states of which not one key has what was written last."""
    written, found = _notes(before, "written"), _notes(after, "found")
    lost = []
    for name, states in written.items():
        held = {state for values in states.values() for state, value in values.items() if value}
        for state in sorted(held):
            if not _came_back(state, states, found.get(name, {})):
                lost.append(f"{name}.{SOURCE_READER if state == POSITION else state}")
    return sorted(lost)


def _came_back(state: str, written: dict[str, Any], found: dict[str, Any]) -> bool:
    if state == POSITION:  # of the source: it goes on behind the last number that it gave
        return bool(found) and found["first"][state] > written["first"][state]
    old = [(key, values[state]) for key, values in written.items() if key in found]
    same = [found[key].get(state) == value for key, value in old]
    if any(same) and not all(same):
        raise NotDone(f"Only some of the keys of {state} came back.")
    return bool(same) and all(same)


def _notes(folder: Path, what: str) -> dict[str, dict[str, Any]]:
    """Return what an operator noted for each key, the last one of each."""
    lines = map(json.loads, (folder / "notes.jsonl").read_text().splitlines())
    notes: dict[str, dict[str, Any]] = {}
    for line in lines:
        if line["what"] == what:
            notes.setdefault(line["operator"], {})[line["key"]] = line["states"]
    return notes


def _lost_rows(before: str, after: str) -> list[str]:
    """Return whether a query lost its state, by the counts in the rows that it printed."""
    ended, began = _counts(before)[1], _counts(after)[0]
    same = [began[key] == ended[key] + 1 for key in ended if key in began]
    return [] if same and all(same) else ["query"]


def _counts(printed: str) -> tuple[dict[str, int], dict[str, int]]:
    """Return the first and the last count of each group among the printed rows."""
    rows = [
        line[line.index("[") + 1 : line.index("]")].split(", ")
        for line in printed.splitlines()
        if line.startswith(("+I[", "+U["))
    ]
    first = {key: int(count) for key, count, *_ in rows[::-1]}
    return first, {key: int(count) for key, count, *_ in rows}


def _short(causes: list[str]) -> str:
    """Return the innermost message, without paths, packages and addresses of objects."""
    if not causes:
        return ""
    lines = [line for line in causes[-1].splitlines() if line]
    said = lines[-1 if "Traceback" in lines[0] else 0].rpartition("Exception: ")[2]
    for left_out, by in ((r"file:\S+", "…"), (r"\b(?:[a-z]+\.){2,}(?=[A-Z])", ""), (r"@\w+", "")):
        said = re.sub(left_out, by, said)
    return said if len(said) <= MOST_SAID else f"{said[:MOST_SAID].rpartition(' ')[0]} …"


# --- the table ------------------------------------------------------------------------------------


def row(case: Case, folder: Path) -> tuple[str, bool]:
    """Return the case as a row of the table, and whether Cutline and Flink agree."""
    answer = json.loads((folder / "cases" / case.name / "answer-job.json").read_text())
    seen = {allow: outcome(case, folder, allow) for allow in ALLOWS}
    agrees = all(
        answer[allow] == each.word and _lost_names(answer[f"lost_{allow}"], case) == each.lost
        for allow, each in seen.items()
    )
    told = [answer[allow] for allow in ALLOWS]
    said = dict.fromkeys(each.said for each in seen.values() if each.said)
    cells = (
        case.base,
        case.changed,
        _words(*told),
        _words(*(each.word for each in seen.values())),
        " / ".join(said).replace("|", "\\|"),
        "yes" if agrees else "not told" if NOT_KNOWN in told else "**no**",
    )
    return f"| {' | '.join(cells)} |", agrees


def _lost_names(states: list[str], case: Case) -> list[str]:
    """Return states as the notes name them. Notes do not see timers; rows, not which state."""
    pairs = [state.rpartition(".")[::2] for state in states]
    if "sql" in BASES[case.base]:
        return ["query"] if states else []
    return sorted(f"{design_name(name)}.{state}" for name, state in pairs if state[0] != "_")


def _words(without: str, with_: str) -> str:
    return without if without == with_ else f"{without}; {with_}"


def keep(case: Case, folder: Path, tests: Path) -> None:
    """Write the savepoint, the descriptions of the new job and what Flink did, for the tests."""
    home = folder / "cases" / case.name
    kept = tests / "savepoints" / case.base
    if not kept.exists():
        shutil.copytree(savepoint_of(case.base, None, folder), kept)
    contents = {
        "savepoint": case.base,
        "changed": case.changed,
        "backend": (BASES[case.base] | case.changes).get("backend", "hashmap"),
        "no_uids": _sets_no_uids(case),
        "flink": {allow: asdict(outcome(case, folder, allow)) for allow in ALLOWS},
        **{name: json.loads((home / f"{name}.json").read_text()) for name in DESCRIPTIONS},
    }
    (tests / f"{case.name}.json").write_text(json.dumps(contents, ensure_ascii=False) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("cases", nargs="*", default=[case.name for case in CASES])
    parser.add_argument("--flink", metavar="PYTHON")
    parser.add_argument("--keep", metavar="TESTS", type=Path)
    options = parser.parse_intermixed_args()
    folder = options.folder.resolve()
    flink = Flink(options.flink, folder) if options.flink else None
    agreeing = 0
    for case in (case for case in CASES if case.name in options.cases):
        try:
            if flink and not list((folder / "cases" / case.name).glob("*/start.json")):
                run(case, flink, folder)
            else:
                ask(case, folder)
            text, agrees = row(case, folder)
            agreeing += agrees
            print(text, flush=True)
            if options.keep:
                keep(case, folder, options.keep)
        except NotDone as problem:
            print(f"{case.name}: {problem}", flush=True)
    print(f"\n{agreeing} of {len(options.cases)} cases agree")
    if flink:
        flink.end()


if __name__ == "__main__":
    main()
