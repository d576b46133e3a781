from django.core.management.base import BaseCommand, CommandError

from webapp.accounts import audit, services
from webapp.accounts.models import ApiToken


class Command(BaseCommand):
    help = "Print a new API token for EMAIL; creates the user if there is none."
    requires_system_checks = ()

    def add_arguments(self, parser) -> None:
        parser.add_argument("email", metavar="EMAIL")
        parser.add_argument("--name", default="command line", help="what will use it")
        parser.add_argument(
            "--scope",
            choices=ApiToken.Scope.values,
            default=ApiToken.Scope.WRITE,
            help="read: it cannot change anything",
        )
        parser.add_argument(
            "--days", type=int, help="days until it expires; by default it never does"
        )

    def handle(self, email: str, name: str, scope: str, days: int | None, **_) -> None:
        if days is not None and not 1 <= days <= services.LONGEST_DAYS:
            raise CommandError(f"--days must be from 1 to {services.LONGEST_DAYS:,}.")
        try:
            user = services.get_or_create_user(email)
        except services.NotAnAddress as error:
            raise CommandError(str(error)) from None
        row, token = services.make_token(user, name, scope=scope, days=days)
        audit.note(audit.TOKEN_MADE, None, f"{row} of {user}", person=user, scope=scope)
        self.stdout.write(token)
