"""Define columns that hold any input, and behave the same on SQLite and on PostgreSQL."""

import re
from typing import Any

from django.db import migrations, models
from psycopg.types.json import Json

_NUL_MARK = "\N{SYMBOL FOR NULL}"  # ␀
_HALF_OF_A_PAIR = re.compile("[\ud800-\udfff]")


def storable(text: str) -> str:
    """Mark the characters that no text column holds on both databases.

    NUL becomes ␀, and half of a surrogate pair becomes U+FFFD.
    """
    return _HALF_OF_A_PAIR.sub("\N{REPLACEMENT CHARACTER}", text.replace("\0", _NUL_MARK))


def clipped(text: str, longest: int) -> str:
    """Return ``text`` with at most ``longest`` characters; one that was longer ends in “…”."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


class JsonField(models.JSONField):
    """A JSON column that gives back exactly the value that was put in.

    On PostgreSQL it is ``json``, which keeps the text. ``jsonb`` refuses NUL and halves of
    surrogate pairs, and turns 1e22 into a whole number. PostgreSQL neither compares nor groups
    values of ``json``, and key transforms fail there on a document that holds a NUL.
    """

    def db_type(self, connection) -> str | None:
        return "json" if connection.vendor == "postgresql" else super().db_type(connection)

    def get_placeholder(self, value, compiler, connection) -> str:
        """Prevent Django from inserting several rows through an array of ``jsonb``."""
        return "%s"

    def get_db_prep_value(self, value, connection, prepared=False):  # noqa: FBT002, Django's signature
        if connection.vendor != "postgresql":
            return super().get_db_prep_value(value, connection, prepared)
        return Json(value)

    def from_db_value(self, value, expression, connection):
        """Return the value as it is on PostgreSQL, where psycopg has already parsed the text."""
        if connection.vendor == "postgresql":
            return value
        return super().from_db_value(value, expression, connection)


class _Storable(models.Field):
    def get_prep_value(self, value: Any) -> Any:
        value = super().get_prep_value(value)
        return storable(value) if isinstance(value, str) else value


class Prose(_Storable, models.TextField):
    """A text of any length that may come from an input; see ``storable``."""


class Line(_Storable, models.CharField):
    """A short text for people that may come from an input; one that is too long ends in “…”.

    PostgreSQL enforces ``max_length``, SQLite does not.
    """

    def get_db_prep_save(self, value: Any, connection) -> Any:
        value = super().get_db_prep_save(value, connection)
        return (
            clipped(value, self.max_length) if isinstance(value, str) and self.max_length else value
        )


class AlterUnlessSqlite(migrations.AlterField):
    """Change a column where the type differs; SQLite stores the fields of this module as before.

    Django would copy the whole table there.
    """

    def database_forwards(self, app_label, schema_editor, from_state, to_state) -> None:
        if schema_editor.connection.vendor != "sqlite":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
