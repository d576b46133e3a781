"""Check whether checkpoints can be restored, from the shell or from somebody's CI."""

import json
import os
import sys
from argparse import ArgumentTypeError
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from django.core.management.base import BaseCommand, CommandError, CommandParser

from snapshots.domain.inventory.batches import spans_text
from snapshots.domain.inventory.model import number_words
from snapshots.domain.inventory.restore_check import (
    ANSWERS,
    NOT_KNOWN,
    NOT_RESTORABLE,
    RESTORABLE,
    RestoreCheck,
    UnneededFile,
    UploadCheck,
    leaving_out,
)
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.defects import InputRefused, times
from snapshots.management.ages import Ages, seconds
from snapshots.readers import foreign, recognition
from snapshots.readers.engines import listing, registry
from snapshots.readers.formats.head import read_head
from snapshots.readers.formats.limits import Limits

EXIT_CODES = {RESTORABLE: 0, NOT_RESTORABLE: 1, NOT_KNOWN: 3}
UNREADABLE = 2
_WORDS = {RESTORABLE: "restorable", NOT_RESTORABLE: "not restorable", NOT_KNOWN: "not known"}
_DAY = 86_400
_MOST_SENTENCES = 5  # of a checkpoint


class Command(BaseCommand):
    help = (
        "Tell whether everything is there that a restore of checkpoints reads: of Flink, Spark "
        "Structured Streaming or SeaTunnel. Nothing is changed. Exit code: 0 if all are "
        "restorable, 1 if one is not, 2 if the path cannot be used, 3 if that cannot be told."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "path",
            type=Path,
            help="a folder or package: a checkpoint, a savepoint, a job's folder, a whole root",
        )
        parser.add_argument(
            "--format",
            choices=registry.FORMATS,
            default=registry.PACKAGE,
            help="the engine that wrote it, instead of recognising it",
        )
        parser.add_argument(
            "--older-than",
            type=_age,
            default=0,
            metavar="AGE",
            help="such as 7d: only files that old are called left over, since a checkpoint that is "
            "being written has files that nothing names yet",
        )
        parser.add_argument("--json", action="store_true", help="print the whole answer as JSON")

    def handle(self, *, path: Path, format: str, older_than: int, **options: object) -> None:
        try:
            with _files(path) as folder:
                check = _checked(folder, format)
                ages = Ages(folder if folder == path else None)
                check = leaving_out(check, _young(check, ages, older_than))
                if options["json"]:
                    body = as_json(check)
                    self.stdout.write(json.dumps(body, indent=2, ensure_ascii=False))
                else:
                    self._print(check, ages, older_than)
        except InputRefused as refused:
            self.stderr.write(f"{refused}")
            sys.exit(UNREADABLE)
        except OSError as error:
            self.stderr.write(f"{error.filename} cannot be read: {error.strerror}.")
            sys.exit(UNREADABLE)
        if code := EXIT_CODES[check.answer]:
            sys.exit(code)

    def _print(self, check: UploadCheck, ages: Ages, limit: int) -> None:
        self.stdout.write(check.headline)
        parts = (
            ("", _checks(check)),
            ("Needed and absent:", _absent(check)),
            ("Needed by no checkpoint:", _unneeded(check, ages, limit)),
            ("Also:", _notes(check)),
        )
        for title, lines in parts:
            if listed := list(lines):
                self.stdout.write("\n".join(("", *filter(None, [title]), *listed)))


def _age(text: str) -> int:
    try:
        return seconds(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


@contextmanager
def _files(path: Path) -> Iterator[Path]:
    """Give a folder with the files: the path itself, or what a package holds."""
    if path.is_dir():
        yield path
        return
    with TemporaryDirectory(prefix="check-") as scratch:
        folder = Path(scratch) / "files"
        registry.unpacked(path, path.name, folder, Limits())
        yield folder


def _checked(folder: Path, format: str) -> UploadCheck:
    """Check the files below a folder. Raises: InputRefused, CommandError."""
    names = tuple(sorted(_names(folder)))
    if not names:
        raise CommandError(f"{folder} holds no file.", returncode=UNREADABLE)
    reader = registry.recognise(folder, names, format).reader
    if reader is None:
        if named := foreign.named_in_folder(folder, names):
            raise CommandError(named.sentence, returncode=UNREADABLE)
        raise CommandError(_what_else(folder, names), returncode=UNREADABLE)
    upload = reader.read(folder)
    for _ in upload.entries():  # which brings to light what cannot be read
        pass
    return upload.restore_check()


def _what_else(folder: Path, names: tuple[str, ...]) -> str:
    """Say what files are that no engine wrote, as far as one file shows it."""
    if len(names) > 1:
        return f"The {len(names):,} files are no checkpoint of an engine known here."
    head = read_head(folder / names[0], Limits())
    with suppress(InputRefused):
        title = recognition.recognised(head).reader.title
        return (
            f"{names[0]} is a log ({title}) and no checkpoint. “python manage.py check_snapshots” "
            "judges it."
        )
    if named := foreign.named(head):
        return named.sentence
    return f"{names[0]} is no checkpoint of an engine known here."


def _names(folder: Path) -> Iterator[str]:
    for inside, _, names in os.walk(folder):
        for name in names:
            yield (Path(inside) / name).relative_to(folder).as_posix()


def _young(check: UploadCheck, ages: Ages, limit: int) -> set[str]:
    """Return the folders without metadata of checkpoints that may be under way."""
    folders = {one.path for one in check.checks if one.path and ages.lacks_metadata(one.path)}
    found = {folder: ages.newest_below(folder) for folder in folders}
    return {folder for folder, age in found.items() if age is not None and age < limit}


def _checks(check: UploadCheck) -> Iterator[str]:
    """Yield a line for each checkpoint that decides; the others by their answers."""
    deciding = [one for one in check.checks if one.decides]
    width = max((len(one.path or ".") for one in deciding), default=0)
    for one in deciding:
        name = f"{one.kind} {number_words(one.kind, one.id)}"
        yield f"  {name:<16} {one.path or '.':<{width}}  {_WORDS[one.answer]:<14}  {_files_of(one)}"
        sentences = (*one.witnesses, *one.unknown)
        more = "more of these; --json prints them all."
        yield from (f"      {line}" for line in listing.first(sentences, _MOST_SENTENCES, more))
    others = [one for one in check.checks if not one.decides]
    for answer in ANSWERS:
        if ids := [one.id for one in others if one.answer == answer]:
            yield f"  {_others(others)} {spans_text(ids)}: {_WORDS[answer]}"


def _files_of(check: RestoreCheck) -> str:
    absent = sum(file.uploaded is None for file in check.files)
    of_all = f"{check.files_total - absent:,} of " if absent else ""
    return f"{of_all}{times(check.files_total, 'file')}, {check.bytes:,} bytes"


def _others(checks: list[RestoreCheck]) -> str:
    """Say what the checkpoints are that do not decide."""
    if all(one.kind in ("batch", "epoch") for one in checks):
        return "if everything newer were taken away, a start after"
    return "without files in the upload, or under way:"


def _absent(check: UploadCheck) -> Iterator[str]:
    for file in check.absent:
        size = "" if file.bytes is None else f" ({file.bytes:,} bytes)"
        yield f"  {file.path}{size}, needed by {spans_text(file.checkpoints)}: {file.reason}"


def _unneeded(check: UploadCheck, ages: Ages, limit: int) -> Iterator[str]:
    old = [file for file in check.unneeded if ages.is_older(file.path, limit)]
    for file in old:
        yield f"  {file.path}  {file.bytes:,} bytes{_days(file, ages)}  {file.reason}"
    if old:
        total = sum(file.bytes for file in old)
        yield f"  {times(len(old), 'file')}, {total:,} bytes; nothing was deleted."
    if young := len(check.unneeded) - len(old):
        yield f"  {times(young, 'file')} may belong to a checkpoint under way: too young."


def _days(file: UnneededFile, ages: Ages) -> str:
    age = ages.of(file.path)
    return "" if age is None else f", {age / _DAY:,.1f} days old"


def _notes(check: UploadCheck) -> Iterator[str]:
    notes = [*check.notes, *(note for one in check.checks if one.decides for note in one.notes)]
    return (f"  {note}" for note in dict.fromkeys(notes))
