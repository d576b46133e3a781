"""Whether Flink reads values of one type with the serializer of another.

Source: Flink, TypeSerializerSnapshot.resolveSchemaCompatibility of BasicTypeSerializer,
CompositeTypeSerializerSnapshot, PojoSerializerSnapshot and TupleSerializerSnapshot.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from snapshots.domain.inventory.upgrade.type_text import Type


class Fit(IntEnum):
    """How the new serializer fits the old values, the worst last."""

    SAME = 0
    MIGRATED = 1
    UNKNOWN = 2
    REFUSED = 3


@dataclass(frozen=True, slots=True)
class Compatibility:
    """How a new type fits an old one; ``why`` is a clause that names the difference."""

    fit: Fit
    why: str = ""


def compatibility(before: Type, after: Type, where: str = "the values") -> Compatibility:
    """Compare two types of the same state. ``where`` names the place in sentences."""
    if before.is_class and after.is_class:
        return _classes(before, after, where)
    if before.is_class or after.is_class:
        known = after if before.is_class else before
        of_class = before if before.is_class else after
        return Compatibility(
            Fit.UNKNOWN,
            f"{where} were {before.name} and become {after.name}: which serializer Flink takes "
            f"for {of_class.name} is not told, so nothing tells whether it reads {known.name}",
        )
    if before.name != after.name or len(before.parts) != len(after.parts):
        return Compatibility(Fit.REFUSED, f"{where} change from {spelt(before)} to {spelt(after)}")
    pairs = zip(before.parts, after.parts, strict=True)
    return _worst(
        compatibility(first, second, f"part {number} of {where}")
        for number, (first, second) in enumerate(pairs, 1)
    )


def _classes(before: Type, after: Type, where: str) -> Compatibility:
    if before.name != after.name:
        return Compatibility(
            Fit.REFUSED,
            f"{where} change from the class {before.name} to the class {after.name}",
        )
    if before.fields is None and after.fields is None and before.parts == after.parts:
        return Compatibility(
            Fit.UNKNOWN,
            f"{where} are of the class {before.name} in both, whose fields are not told",
        )
    if before.fields is None or after.fields is None:
        lacking = "the checkpoint" if before.fields is None else "the new job's description"
        return Compatibility(
            Fit.UNKNOWN, f"{lacking} does not tell the fields of the class {before.name}"
        )
    old, new = dict(before.fields), dict(after.fields)
    changed = _worst(
        compatibility(old[name], new[name], f"the field {name} of {before.name}")
        for name in old
        if name in new
    )
    added, removed = sorted(new.keys() - old.keys()), sorted(old.keys() - new.keys())
    if changed.fit is Fit.REFUSED or not (added or removed):
        return changed
    clauses = [
        *(f"the field {name} is new and begins empty" for name in added),
        *(f"the field {name} is gone, and its values are thrown away" for name in removed),
    ]
    moved = Compatibility(Fit.MIGRATED, " and ".join(clauses))
    return _worst((changed, moved))


def spelt(type_: Type) -> str:
    """Spell a type for people."""
    if type_.fields is not None:
        fields = ", ".join(f"{name}: {spelt(field)}" for name, field in type_.fields)
        return f"{type_.name}{{{fields}}}"
    if type_.parts:
        return f"{type_.name}<{', '.join(map(spelt, type_.parts))}>"
    return type_.name


def _worst(found: Iterable[Compatibility]) -> Compatibility:
    return max(found, key=lambda one: one.fit, default=Compatibility(Fit.SAME))
