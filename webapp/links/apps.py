from django.apps import AppConfig


class LinksConfig(AppConfig):
    name = "webapp.links"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from webapp.links import ending  # noqa: F401, it listens for the ends of rights
