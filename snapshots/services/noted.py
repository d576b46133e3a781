"""Say in words which notes of people a recording or an archived job has."""

from collections.abc import Iterable

from django.contrib.auth.models import User
from django.db.models import Count, Q, QuerySet

from snapshots.models import EngineJob, Recording
from snapshots.quantities import counted


def notes_of(row: Recording | EngineJob) -> str:
    """Count the notes of a row and their authors: 12 notes of 4 people; empty without notes."""
    return _in_words(row.entry_set.all())


def notes_of_jobs(jobs: Iterable[EngineJob]) -> str:
    """Count the notes of several archived jobs and their authors; empty without notes."""
    return _in_words(_entries().filter(engine_job__in=jobs))


def noted_by_others(user: User) -> list[EngineJob]:
    """Return the person's archived jobs with notes that somebody else wrote."""
    others = _entries().filter(engine_job__owner=user).exclude(author=user)
    return list(EngineJob.objects.filter(pk__in=others.values("engine_job")))


def _entries() -> QuerySet:
    return EngineJob._meta.get_field("entry").related_model._default_manager.all()


def _in_words(entries: QuerySet) -> str:
    """Count entries with their answers, and the people who wrote them and have an account."""
    numbers = entries.aggregate(
        notes=Count("pk", filter=Q(parent=None)),
        answers=Count("pk", filter=Q(parent__isnull=False)),
        people=Count("author", distinct=True),
        imported=Count("pk", filter=~Q(imported_author="")),
        nobodys=Count("pk", filter=Q(author=None, imported_author="")),
    )
    if not numbers["notes"]:
        return ""
    answers = f" and {counted(numbers['answers'], 'answer')}" if numbers["answers"] else ""
    people = [counted(numbers["people"], "person", "people")] if numbers["people"] else []
    people += ["people elsewhere"] if numbers["imported"] else []
    people += ["deleted accounts"] if numbers["nobodys"] else []
    return f"{counted(numbers['notes'], 'note')}{answers} of {' and '.join(people)}"
