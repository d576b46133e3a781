from django.core.management.base import BaseCommand, CommandError

from webapp.accounts import services


class Command(BaseCommand):
    help = "Print a new API token for EMAIL; creates the user where there is none."

    def add_arguments(self, parser):
        parser.add_argument("email", metavar="EMAIL")
        parser.add_argument("--name", default="command line", help="what will use it")

    def handle(self, email, name, **options):
        try:
            user = services.get_or_create_user(email)
        except services.NotAnAddress as error:
            raise CommandError(str(error)) from None
        _, token = services.make_token(user, name)
        self.stdout.write(token)
