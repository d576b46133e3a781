"""The units of the facts of an upload: no large number goes without."""

from collections.abc import Iterator

from snapshots.domain.inventory.model import Fact, UploadInventory

LARGEST_NAME = 9_999  # larger numbers are quantities, and not names


def facts_of(upload: UploadInventory) -> Iterator[Fact]:
    for job in upload.jobs:
        yield from job.facts
    for checkpoint in upload.checkpoints:
        yield from checkpoint.facts
        for operator in checkpoint.operators:
            yield from operator.facts


def units(upload: UploadInventory) -> set[tuple[str, str]]:
    """(name, unit) of all numbers with a unit; fails for a large number without."""
    found = set()
    for fact in facts_of(upload):
        is_number = isinstance(fact.value, int | float)
        assert fact.unit is None or is_number or fact.value is None, fact
        if is_number and fact.unit is None:
            assert fact.value <= LARGEST_NAME, fact
        elif is_number:
            found.add((fact.name, fact.unit))
    return found
