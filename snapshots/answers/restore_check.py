"""Answer whether everything is there that a restore of an upload's checkpoints reads."""

from typing import Any

from snapshots.answers.inventory import checkpoint
from snapshots.store.inventory.reading import StoredInventory


def restore_check(inventory: StoredInventory, number: int) -> dict[str, Any]:
    """Return the RestoreCheck of one checkpoint as JSON. Raises: NotFound, StoreDamaged."""
    checkpoint(inventory, number)  # says how many there are
    return inventory.restore_check_of(number)


def upload_check(inventory: StoredInventory) -> dict[str, Any]:
    """Return the UploadCheck as JSON. Raises: StoreDamaged."""
    return inventory.restore_check()


def known_answers(inventory: StoredInventory) -> dict[int, dict[str, Any]]:
    """Return the answers by number of the checkpoint; none in uploads of older releases."""
    if not inventory.has_check:
        return {}
    checks = inventory.restore_check()["checks"]
    return {check["number"]: check for check in checks if check["number"] is not None}
