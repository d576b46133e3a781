"""Tell files of this machine from what only looks like a path and opens itself."""

from pathlib import Path


def is_file_here(path: Path) -> bool:
    """Tell whether libraries may open a path by its name; else use its own ``open``."""
    return type(path) is type(Path())
