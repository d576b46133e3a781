"""Delete closed accounts, and say before what goes with one."""

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import CASCADE, Model

from snapshots.models import EngineJob
from snapshots.problems import Conflict
from snapshots.quantities import counted
from snapshots.services.noted import noted_by_others, notes_of_jobs
from webapp.accounts import audit
from webapp.accounts.people import OWNED, PLURALS, owned, sole_owner_of

WORDS = {  # singular and plural of tables whose names say too little
    "apitoken": ("API token", "API tokens"),
    "enginejob": ("archived job", "archived jobs"),
    "job": ("job with its result", "jobs with their results"),
    "membership": ("membership of a team", "memberships of teams"),
    "participant": ("part in a review", "parts in reviews"),
    "trailitem": ("item of the trail", "items of the trail"),
}
UNNAMED = frozenset(  # what the server keeps about an account, and nobody made by hand
    {"allowance", "idempotentrequest", "notice", "session", "signinlink", "unprovenaccount"}
)


def losses(user: User) -> list[str]:
    """Say in sentences what is deleted with an account."""
    parts = [words for model, field in _owned_tables() if (words := _counted(model, field, user))]
    if not parts:
        return []
    sentences = [f"These go with the account: {', '.join(sorted(parts))}."]
    if noted := notes_of_jobs(EngineJob.objects.filter(owner=user)):
        sentences.append(f"The archived jobs have {noted}.")
    return sentences


def _owned_tables() -> list[tuple[type[Model], str]]:
    """Return each table whose rows are deleted with their account, with the field that says so."""
    return [
        (relation.related_model, relation.field.name)
        for relation in User._meta.related_objects
        if relation.on_delete is CASCADE and relation.related_model._meta.model_name not in UNNAMED
    ]


def _counted(model: type[Model], field: str, user: User) -> str:
    number = model._default_manager.filter(**{field: user}).count()
    meta = model._meta
    plain = (str(meta.verbose_name), str(meta.verbose_name_plural))
    return counted(number, *WORDS.get(meta.model_name or "", plain)) if number else ""


@transaction.atomic
def delete(user: User, by: User | None) -> list[str]:
    """Delete a closed account that holds nothing that others could miss; return its ``losses``.

    The audit log stays, and so do the notes that the person wrote on what belongs to others.
    Raises: Conflict.
    """
    if user.is_active:
        raise Conflict(f"The account of {user} is open: close it first.")
    require_nothing_owned(user, str(user))
    _require_no_notes_of_others(user)
    if teams := sole_owner_of(user):
        raise Conflict(f"{user} is the only owner of {teams[0]}: hand over first.")
    going = losses(user)
    audit.note(audit.ACCOUNT_DELETED, by, str(user), person=user, losses=going)
    user.delete()
    return going


def require_nothing_owned(account: User, words: str) -> None:
    """Refuse an account that holds a recording, topology, mapping or review. Raises: Conflict."""
    for kind in OWNED:
        if number := owned(kind, account).count():
            held = counted(number, kind, PLURALS.get(kind, ""))
            raise Conflict(f"{words} still has {held}: hand over first.")


def _require_no_notes_of_others(user: User) -> None:
    """Refuse an account whose archived jobs others have noted. Raises: Conflict."""
    if jobs := noted_by_others(user):
        raise Conflict(
            f"{counted(len(jobs), 'archived job')} of {user} have notes that others wrote "
            f"({notes_of_jobs(jobs)}): hand over first."
        )
