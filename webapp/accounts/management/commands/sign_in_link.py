import time
import urllib.error
import urllib.request

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from webapp.accounts import audit, services

WAIT_SECONDS = 120
HOW = "For a sign-in link: .venv/bin/python manage.py sign_in_link EMAIL"


class Command(BaseCommand):
    help = "Print a link that signs EMAIL in, once, within an hour."
    requires_system_checks = ()

    def add_arguments(self, parser):
        parser.add_argument("email", metavar="EMAIL", nargs="?", default=services.OWNER)
        parser.add_argument(
            "--when-up",
            action="store_true",
            help="wait until the server answers; print a link only if nobody has signed in yet",
        )

    def handle(self, email, when_up, **options):
        if when_up:
            wait_for(f"http://{settings.HOST}:{settings.PORT}/healthz")
            if somebody_has_signed_in():
                self.stdout.write(f"Cutline is ready at {settings.PUBLIC_URL}. {HOW}")
                return
        try:
            user = services.get_or_create_user(email)
        except services.NotAnAddress as error:
            raise CommandError(str(error)) from None
        link = services.make_sign_in_link(user)
        audit.note(audit.LINK_MADE, None, f"sign-in link for {user}", person=user)
        self.stdout.write(f"Cutline is ready. Sign in: {link}" if when_up else link)


def somebody_has_signed_in() -> bool:
    """Tell whether anybody has signed in; if so, an owner's link in the log is not needed."""
    return User.objects.exclude(last_login=None).exists()


def wait_for(url: str) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(url, timeout=5)
            return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
    raise CommandError(f"The server did not answer at {url} within {WAIT_SECONDS} s.")
