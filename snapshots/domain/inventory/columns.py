"""The names of the columns in the state of a query, which no savepoint has."""

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True)
class NamedColumn:
    """A column of a row.

    Attributes:
        name: its name. None if nothing names it.
        type: its type, as SQL writes it.
    """

    name: str | None
    type: str


@final
@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of one state; empty where nothing names one of them.

    Attributes:
        key: the columns of the key.
        user_key: the columns of the keys of a map, such as those by which is sorted.
        row: the columns of the rows in the values.
        told_by: what names them, for people.
    """

    key: tuple[NamedColumn, ...]
    user_key: tuple[NamedColumn, ...]
    row: tuple[NamedColumn, ...]
    told_by: str
