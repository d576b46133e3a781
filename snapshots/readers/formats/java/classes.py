"""Keeps how a Java serialization stream describes a class, and the fields of its objects."""

from dataclasses import dataclass
from functools import cached_property

WRITES, SERIALIZABLE, EXTERNALIZABLE, IN_BLOCKS = 1, 2, 4, 8  # bits of flags


@dataclass
class Descriptor:
    """The description of a class.

    Attributes:
        fields: type code and name of each field.
        interfaces: the interfaces of a proxy. None means that the class is no proxy.
        parent: the superclass. None means that there is none that can be serialized.
        ancestors: the number of superclasses.
        complete: whether the description has been read to its end.
    """

    name: str
    flags: int = 0
    fields: tuple[tuple[str, str], ...] = ()
    interfaces: tuple[str, ...] | None = None
    parent: "Descriptor | None" = None
    ancestors: int = 0
    complete: bool = False

    @cached_property
    def layout(self) -> list[tuple["Descriptor", list[tuple[str, str]]]]:
        """The classes in the order in which an object of this one is written, the highest first.

        Each has its fields as (type code, name). The name is ``Superclass.name`` if a class below
        has a field of the same name.
        """
        layout: list[tuple[Descriptor, list[tuple[str, str]]]] = []
        taken: set[str] = set()
        part: Descriptor | None = self
        while part is not None:
            own = part.fields if part.flags & SERIALIZABLE else ()
            fields = [(c, f"{part.name}.{name}" if name in taken else name) for c, name in own]
            layout.append((part, fields))
            taken.update(name for _, name in own)
            part = part.parent
        return layout[::-1]
