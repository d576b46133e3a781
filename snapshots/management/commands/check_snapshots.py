"""Judge the snapshots of a log from the shell, without server, database or Spark."""

import json
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from django.core.management.base import BaseCommand, CommandParser

from snapshots.domain.assembling.assembly import Assembly, assemble
from snapshots.domain.judging.answers import FAILS, HOLDS, NOT_KNOWN
from snapshots.domain.judging.findings import CONSISTENT, VERDICTS
from snapshots.domain.judging.report import SnapshotReport
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.defects import MOST_LISTED, Defect, Defects, InputRefused, refuse, times
from snapshots.domain.model.recording import LoggedEvent
from snapshots.limits import recording_limits
from snapshots.readers import recognition
from snapshots.readers.engines import registry
from snapshots.readers.formats.excerpt import with_excerpt
from snapshots.readers.formats.head import read_head
from snapshots.readers.together import joined

NOT_AS_EXPECTED = 1
REFUSED = 2
_COLUMNS = ("snapshot", "verdict", "processes", "in flight", "began", "duration")
_ANSWERS = {HOLDS: "holds", FAILS: "does not hold", NOT_KNOWN: "is not known"}
_DEFECTS_SHOWN = 20
_NOT_A_LOG = {
    registry.PACKAGE: "a package",
    **{name: f"a file of {reader.title}" for name, reader in registry.READERS.items()},
}
_PROGRESS_EVERY = 50_000  # events


class Command(BaseCommand):
    help = (
        "Check every snapshot in a recorded event log and print the verdicts. Exit code: 0 if "
        "all are consistent (or have the verdict after --expect), 1 if one is not, 2 if the file "
        "cannot be read."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file",
            type=Path,
            help="the event log, or a folder of Parquet parts, or of a log for each process",
        )
        parser.add_argument(
            "--format",
            choices=recognition.names(),
            help="read it as this format instead of recognising it",
        )
        parser.add_argument(
            "--expect",
            choices=VERDICTS,
            default=CONSISTENT,
            help="the verdict that every snapshot must have; without a snapshot it fails",
        )
        parser.add_argument("--json", action="store_true", help="print JSON instead of a table")

    def handle(
        self, *, file: Path, format: str | None, expect: str, json: bool, **_: object
    ) -> None:
        try:
            checked = self._checked(file, format)
        except InputRefused as refused:
            shown = with_excerpt(refused, file, recording_limits()) if file.is_file() else refused
            self._print_refusal(shown, json)
            sys.exit(REFUSED)
        except OSError as error:
            self.stderr.write(f"{file} cannot be read: {error.strerror or error}.")
            sys.exit(REFUSED)
        reports = judge(checked.recording)
        if json:
            self._print_json(checked, reports)
        else:
            self._print_tables(checked, reports)
        is_other = any(report.verdict != expect for report in reports)
        if is_other or (expect != CONSISTENT and not reports):
            sys.exit(NOT_AS_EXPECTED)

    def _checked(self, file: Path, format: str | None) -> Assembly:
        """Assemble a log, or the logs of a folder, one for each process. Raises: InputRefused."""
        if format is not None or not file.is_dir() or any(file.glob("*.parquet")):
            return self._assembled(file, format)
        names = tuple(
            path.relative_to(file).as_posix() for path in file.rglob("*") if path.is_file()
        )
        if reader := registry.recognise(file, names, registry.PACKAGE).reader:
            raise _not_a_log(file, f"a folder of {reader.title}")
        with TemporaryDirectory(prefix="cutline-") as scratch:
            one = joined(file, names, Path(scratch) / "joined", recording_limits())
            self._print_progress(f"{file}: {one.reason}")
            try:
                return self._assembled(one.path, None)
            except InputRefused as refused:
                raise one.placed(refused) from None

    def _assembled(self, file: Path, format: str | None) -> Assembly:
        limits, defects = recording_limits(), Defects()
        sniffed = self._sniffed(file, format)
        self._print_progress(f"{file}: {sniffed.reason}")
        header = sniffed.reader.header(file, limits)
        logged = recognition.events(sniffed.reader, file, header, limits, defects)
        assembly = assemble(header, self._counted(logged))
        defects.extend(assembly.defects)
        total = defects.total + assembly.defects_total - len(assembly.defects)
        return Assembly(assembly.recording, defects.listed, total)

    def _sniffed(self, file: Path, format: str | None) -> recognition.Sniffed:
        """Return the reader. Raises: InputRefused, also for archives and an engine's files."""
        if format is not None:
            return recognition.sniff(file, recording_limits(), format)
        if file.is_dir():
            return recognition.sniff(file, recording_limits())
        head = read_head(file, recording_limits())
        if (engine := registry.format_of(head, file.name)) is not None:
            raise _not_a_log(file, _NOT_A_LOG[engine])
        return recognition.recognised(head)

    def _counted(self, logged: Iterable[LoggedEvent]) -> Iterator[LoggedEvent]:
        for count, event in enumerate(logged, 1):
            if count % _PROGRESS_EVERY == 0:
                self._print_progress(f"{count:,} events read", end="\r")
            yield event

    def _print_progress(self, sentence: str, end: str = "\n") -> None:
        if sys.stderr.isatty():
            self.stderr.write(sentence, ending=end)

    def _print_refusal(self, refused: InputRefused, as_json: bool) -> None:
        if as_json:
            self._print_defects_json(refused.defects, refused.total, refused=True)
            return
        self.stderr.write("The file is refused:")
        for item in refused.defects[:_DEFECTS_SHOWN]:
            self.stderr.write(f"  {item.code}: {item}")
        if excerpt := refused.members.get("excerpt"):
            self.stderr.write(f"Line {refused.defects[0].line}: {excerpt}")
        self._print_rest(self.stderr, refused.total - _DEFECTS_SHOWN)

    def _print_defects_json(self, defects: Iterable[Defect], total: int, refused: bool) -> None:
        listed = [asdict(item) for item in defects]
        self._dump({"refused": refused, "defects": listed, "defects_total": total})

    def _dump(self, document: object) -> None:
        self.stdout.write(json.dumps(document, indent=2, ensure_ascii=False))

    def _print_json(self, checked: Assembly, reports: tuple[SnapshotReport, ...]) -> None:
        self._dump(
            {
                "refused": False,
                "consistent": all(report.verdict == CONSISTENT for report in reports),
                "snapshots": [report.summary() for report in reports],
                "defects": [asdict(item) for item in checked.defects],
                "defects_total": checked.defects_total,
            }
        )

    def _print_tables(self, checked: Assembly, reports: tuple[SnapshotReport, ...]) -> None:
        if not reports:
            self.stdout.write("The recording holds no snapshot: there is no record_state event.")
        else:
            self._print_verdicts(checked, reports)
        if checked.defects_total:
            self.stdout.write(f"\n{times(checked.defects_total, 'defect')} in the input:")
            for item in checked.defects[:_DEFECTS_SHOWN]:
                self.stdout.write(f"  {item.code}: {item}")
            self._print_rest(self.stdout, checked.defects_total - _DEFECTS_SHOWN)

    def _print_rest(self, stream, left: int) -> None:
        if left > 0:
            stream.write(f"  and {left:,} more; --json lists up to {MOST_LISTED:,}.")

    def _print_verdicts(self, checked: Assembly, reports: tuple[SnapshotReport, ...]) -> None:
        processes = len(checked.recording.topology.processes)
        rows = [_COLUMNS, *(_row(report, processes, checked) for report in reports)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
        for row, report in zip(rows, (None, *reports), strict=True):
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            self.stdout.write("  ".join(cells).rstrip())
            for item in report.answers if report else ():
                words = _ANSWERS[item.answer]
                rest = f" {item.not_compared}" if item.not_compared else ""
                self.stdout.write(_indented(f"{item.question} {words}: {item.sentence}{rest}"))
            for finding in report.findings if report else ():
                if finding.verdict != CONSISTENT:
                    self.stdout.write(_indented(f"{finding.verdict}: {finding.sentence}"))
            for verdict, left in _not_listed(report):
                self.stdout.write(_indented(f"{verdict}: and {left:,} more"))


def _not_a_log(file: Path, what: str) -> InputRefused:
    return refuse(
        "unknown-format",
        f"This is {what}; this command checks one log. “python manage.py ingest {file}” "
        "reads packages, and folders and files that an engine wrote; the page shows what "
        "is in them.",
    )


def _row(report: SnapshotReport, processes: int, checked: Assembly) -> tuple[str, ...]:
    unit = checked.recording.time_unit
    ended = report.ended_at
    return (
        report.snapshot,
        report.verdict,
        f"{len(report.positions)}/{processes}",
        str(sum(map(len, report.in_flight.values()))),
        f"{report.began_at} {unit}",
        "not ended" if ended is None else f"{ended - report.began_at} {unit}",
    )


def _not_listed(report: SnapshotReport | None) -> Iterator[tuple[str, int]]:
    """Yield how many witnesses of each verdict are counted but not listed."""
    if report is None:
        return
    kept = [finding.verdict for finding in report.findings]
    for verdict, count in report.counts.items():
        if count > kept.count(verdict):
            yield verdict, count - kept.count(verdict)


def _indented(sentence: str) -> str:
    width = max(40, shutil.get_terminal_size((100, 24)).columns)
    return textwrap.fill(
        sentence, width, initial_indent="  ", subsequent_indent="    ", break_long_words=False
    )
