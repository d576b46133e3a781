from collections.abc import Iterable

from django.core.management.base import CommandError

from snapshots.files import kept
from snapshots.management.files import FilesCommand
from snapshots.management.jobs import see_through
from snapshots.models import Job, Recording
from snapshots.problems import Problem
from snapshots.quantities import counted
from snapshots.services.recordings import ingest_again


class Command(FilesCommand):
    help = (
        "Queue the kept uploads of recordings again, as after an upgrade that stores more. Until "
        "its job is done, a recording's page shows the progress."
    )

    def add_arguments(self, parser) -> None:
        parser.add_argument("recordings", nargs="*", type=int, metavar="ID")
        parser.add_argument("--all", action="store_true", help="every recording")
        parser.add_argument("--failed", action="store_true", help="all that failed")
        parser.add_argument(
            "--whole-state", action="store_true", help="the state of all batches of Spark"
        )
        parser.add_argument("--wait", action="store_true", help="wait until they have ended")
        parser.add_argument("--inline", action="store_true", help="ingest here, without a worker")

    def handle(self, *, recordings: list[int], wait: bool, inline: bool, **options) -> None:
        chosen = _chosen(recordings, options["all"], options["failed"])
        queued = [self._queued(row, whole_state=options["whole_state"]) for row in chosen]
        jobs = [job for job in queued if job is not None]
        left_out = len(chosen) - len(jobs)
        self.stdout.write(f"{counted(len(jobs), 'recording')} queued, {left_out:,} left out.")
        if wait or inline:
            see_through(self, jobs, inline=inline)

    def _queued(self, recording: Recording, *, whole_state: bool) -> Job | None:
        try:
            if recording.upload and not kept.path_of(recording.upload).exists():
                raise _LeftOut("Its upload is missing: see python manage.py check_data.")
            return ingest_again(recording, whole_state=whole_state)
        except (Problem, _LeftOut) as reason:
            sentence = reason.detail if isinstance(reason, Problem) else str(reason)
            self.stdout.write(f"{recording.pk} “{recording.name}” is left out. {sentence}")
            return None


class _LeftOut(Exception):
    """A recording is left out; the message gives the reason."""


def _chosen(ids: Iterable[int], every: bool, failed: bool) -> list[Recording]:
    """Return the chosen recordings.

    Raises: CommandError unless there is exactly one kind of choice and the recordings exist.
    """
    if [bool(ids), every, failed].count(True) != 1:
        raise CommandError("Give the ids of recordings, or --all, or --failed.")
    rows = Recording.objects.order_by("pk")
    if failed:
        rows = rows.filter(status=Recording.Status.FAILED)
    elif not every:
        rows = rows.filter(pk__in=ids)
        unknown = sorted(set(ids) - set(rows.values_list("pk", flat=True)))
        if unknown:
            raise CommandError(f"There is no recording {', '.join(map(str, unknown))}.")
    return list(rows)
