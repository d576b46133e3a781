from django.apps import AppConfig
from django.urls import register_converter

from snapshots.without_pandas import keep_pandas_out

keep_pandas_out()  # before the first model loads what makes arrays


class SnapshotsConfig(AppConfig):
    name = "snapshots"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from snapshots.jobs import live  # noqa: F401  (connects its receivers of signals)
        from snapshots.web.converters import KindConverter, TextConverter

        register_converter(TextConverter, "text")
        register_converter(KindConverter, "kind")
