"""How a Java serialization stream describes a class, and which fields an object of it has."""

from dataclasses import dataclass
from functools import cached_property

WRITES, SERIALIZABLE, EXTERNALIZABLE, IN_BLOCKS = 1, 2, 4, 8  # bits of flags


@dataclass
class Descriptor:
    """A class. fields: (type code, name); interfaces: of a proxy; parent: None for the first.

    ancestors: how many superclasses there are. complete: it has been read to its end.
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

        Each with its fields, (type code, name): ``Superclass.name`` where the name stands again
        in a class below.
        """
        parts, taken, part = [], set(), self
        while part is not None:
            own = part.fields if part.flags & SERIALIZABLE else ()
            parts.append(
                (part, [(c, f"{part.name}.{name}" if name in taken else name) for c, name in own])
            )
            taken.update(name for _, name in own)
            part = part.parent
        return parts[::-1]
