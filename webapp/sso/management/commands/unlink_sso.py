from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from snapshots.problems import NotFound
from webapp.accounts import audit, people
from webapp.sso.models import Identity


class Command(BaseCommand):
    help = "Forget to which account at the OpenID provider EMAIL is linked."
    requires_system_checks = ()

    def add_arguments(self, parser) -> None:
        parser.add_argument("email", metavar="EMAIL")

    @transaction.atomic
    def handle(self, email: str, **_) -> None:
        try:
            user = people.named(email)
        except NotFound as problem:
            raise CommandError(str(problem)) from None
        identities = Identity.objects.filter(user=user)
        if not identities.exists():
            raise CommandError(f"{user} is not linked to any account.")
        identities.delete()
        audit.note(audit.IDENTITY_UNLINKED, None, str(user), person=user)
        self.stdout.write(f"{user} is no longer linked. The next single sign-on links them again.")
