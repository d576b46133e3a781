"""Hold a savepoint against the new version of its job, from the shell or from somebody's CI."""

import json
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError, CommandParser

from snapshots.domain.inventory.model import CheckpointInventory, OperatorInventory
from snapshots.domain.inventory.restore_check import Completeness
from snapshots.domain.inventory.upgrade.answer import (
    LOSES,
    NOT_KNOWN,
    REFUSED,
    RESTORED,
    UpgradeAnswer,
)
from snapshots.domain.inventory.upgrade.own_list import as_text, own_list
from snapshots.domain.inventory.upgrade.upgrade import answer
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.defects import InputRefused
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.readers.engines.flink.new_job import BACKENDS, read_new_job_file

EXIT_CODES = {RESTORED: 0, LOSES: 1, REFUSED: 1, NOT_KNOWN: 3}
UNREADABLE = 2
_PARTS = (
    ("Flink refuses it:", "refusals"),
    ("No operator claims this state:", "left_over"),
    ("Lost without a word from Flink:", "losses"),
    ("Not known:", "unknown"),
    ("Also:", "notes"),
)


class Command(BaseCommand):
    help = (
        "Tell what Flink does when a new job is started from a savepoint. Exit code: 0 if every "
        "state comes back, 1 if Flink refuses it or state is lost, 2 if a file cannot be read, 3 "
        "if that cannot be told from these files."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("savepoint", type=Path, help="the folder with its _metadata")
        parser.add_argument(
            "job", type=Path, nargs="?", help="a list of uids, a plan or an execution plan, as JSON"
        )
        parser.add_argument(
            "--list",
            action="store_true",
            help="print the list of uids of the job that wrote the savepoint, to be edited",
        )
        parser.add_argument(
            "--allow-non-restored-state",
            action="store_true",
            help="answer for a start that may drop state",
        )
        parser.add_argument("--backend", choices=BACKENDS, help="the new job's state backend")
        parser.add_argument(
            "--no-uids",
            action="store_true",
            help="the new job sets no uids and does not turn off chaining: compute the ids that a "
            "plan hides",
        )
        parser.add_argument("--json", action="store_true", help="print the whole answer as JSON")

    def handle(
        self,
        *,
        savepoint: Path,
        job: Path | None,
        allow_non_restored_state: bool,
        backend: str | None,
        no_uids: bool,
        **options: object,
    ) -> None:
        if (job is None) != bool(options["list"]):
            raise CommandError("Give either the new job or --list.", returncode=UNREADABLE)
        try:
            checkpoint, completeness = _checkpoint(savepoint)
            if job is None:
                self.stdout.write(as_text(own_list(checkpoint)))
                return
            new_job = read_new_job_file(job, backend, without_uids=no_uids)
            found = answer(checkpoint, new_job, completeness)
        except InputRefused as refused:
            self.stderr.write(f"{refused}")
            sys.exit(UNREADABLE)
        except OSError as error:
            self.stderr.write(f"{error.filename} cannot be read: {error.strerror}.")
            sys.exit(UNREADABLE)
        if options["json"]:
            self.stdout.write(json.dumps(as_json(found), indent=2, ensure_ascii=False))
        else:
            self._print(found)
        outcome = found.with_allow if allow_non_restored_state else found.without_allow
        lost = found.lost_with_allow if allow_non_restored_state else found.lost_without_allow
        if code := EXIT_CODES[LOSES if lost else outcome]:
            sys.exit(code)

    def _print(self, found: UpgradeAnswer) -> None:
        self.stdout.write(found.headline)
        for title, name in _PARTS:
            if sentences := getattr(found, name):
                self.stdout.write("\n".join(("", title, *(f"  {item}" for item in sentences))))


def _checkpoint(folder: Path) -> tuple[CheckpointInventory, Completeness | None]:
    """Read the one checkpoint of a folder with its entries counted, and whether all is there."""
    if not folder.is_dir():
        raise CommandError(f"{folder} is no folder.", returncode=UNREADABLE)
    upload = FlinkReader().read(folder)
    entries = Counter((entry.checkpoint, entry.operator, entry.state) for entry in upload.entries())
    stored = [
        (number, item)
        for number, item in enumerate(upload.inventory().checkpoints)
        if item.path is not None
    ]
    if len(stored) != 1:
        raise CommandError(
            f"{folder} holds {len(stored):,} checkpoints: give the folder of one.",
            returncode=UNREADABLE,
        )
    ((number, checkpoint),) = stored

    def counted(operator: OperatorInventory) -> OperatorInventory:
        states = tuple(
            replace(state, entries=entries[number, operator.id, state.name or ""])
            if state.complete
            else state
            for state in operator.states
        )
        return replace(operator, states=states)

    checks = (check for check in upload.restore_check().checks if check.number == number)
    completeness = next((one.completeness for one in checks), None)
    return replace(checkpoint, operators=tuple(map(counted, checkpoint.operators))), completeness
