"""The least values of whole-number parameters, declared with the types of their fields."""

from dataclasses import dataclass
from types import NoneType
from typing import Annotated, get_args, get_type_hints

from snapshots.domain.dataflow_logs.dataflow import DataflowRefused


@dataclass(frozen=True, slots=True)
class AtLeast:
    """Marks a whole number with the least value that it can have."""

    least: int


NotNegative = Annotated[int, AtLeast(0)]
Positive = Annotated[int, AtLeast(1)]


def check_whole_numbers(parameters: object, path: str = "") -> None:
    """Refuse fields that are no whole numbers, or below their least values.

    ``path`` is that of the object to which the fields belong. Raises: DataflowRefused.
    """
    for name, (least, takes_none) in least_values(type(parameters)).items():
        value = getattr(parameters, name)
        if value is None and takes_none:
            continue
        if type(value) is not int or value < least:
            raise DataflowRefused(
                f"{path}.{name}" if path else name,
                f"It is a whole number, at least {least}, not {value!r}.",
            )


def least_values(cls: type) -> dict[str, tuple[int, bool]]:
    """Return the least value of each bounded field, and whether the field takes None."""
    bounded = {}
    for name, hint in get_type_hints(cls, include_extras=True).items():
        parts = (hint, *get_args(hint))
        for part in parts:
            for mark in getattr(part, "__metadata__", ()):
                if isinstance(mark, AtLeast):
                    bounded[name] = mark.least, NoneType in parts
    return bounded


def check_one_of(field: str, value: object, allowed: tuple[str, ...]) -> None:
    """Refuse a value that is not among the allowed ones. Raises: DataflowRefused."""
    if value not in allowed:
        raise DataflowRefused(field, f"It is one of {', '.join(allowed)}, not {value!r}.")
