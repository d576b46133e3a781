from django.core.management.commands import check


class Command(check.Command):
    help = (
        "Check settings, database, Redis and disk for what is dangerous where others can reach "
        "this server. --deploy also names what would be, before others can reach it. "
        "--fail-level WARNING exits with 1 if there is anything."
    )
    requires_system_checks = ()

    def handle(self, *labels, **options) -> None:
        """Ask the database, too: Django's own command does so only if one is named."""
        options["databases"] = options["databases"] or ["default"]
        super().handle(*labels, **options)
