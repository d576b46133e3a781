from django.apps import AppConfig
from django.core import checks


class OperatingConfig(AppConfig):
    name = "webapp.operating"

    def ready(self) -> None:
        """Add the dangers to Django's checks, under the tag of those that ask the database."""
        checks.register(_dangers, checks.Tags.database)
        checks.register(_dangers_once_open, checks.Tags.database, deploy=True)


def _dangers(**_) -> list[checks.CheckMessage]:
    from webapp.operating import dangers

    return dangers.every()


def _dangers_once_open(**_) -> list[checks.CheckMessage]:
    from webapp.operating import dangers

    return dangers.once_open()
