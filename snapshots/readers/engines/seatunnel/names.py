"""Parse SeaTunnel's names of files and of actions.

Source: docs/formats/seatunnel-files.md, "4. Start, restore, end" and "6. Files".
"""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

SOURCE, TRANSFORM, SINK, SHUFFLE = "source", "transform", "sink", "shuffle"
_STORED = re.compile(r"([0-9]{1,18})-([0-9]{1,3})-([0-9]{1,9})-([0-9]{1,18})\.(ser|sertmp)")
_BUNDLED = re.compile(r"([0-9]{1,9})-([0-9]{1,18})\.ser")
_KEY = re.compile(r"ActionStateKey - (?:pipeline-([0-9]{1,9}) \[(.*)\]|(.*))", re.DOTALL)
_ROLES = {"Source[": SOURCE, "Transform": TRANSFORM, "Sink[": SINK, "Shuffle": SHUFFLE}


@dataclass(frozen=True, slots=True)
class FileName:
    """The parts of a checkpoint file's name; None for a part that this kind of name lacks.

    Attributes:
        written_at: epoch milliseconds.
        number: a random number.
        unfinished: whether writing was interrupted: the engine renames a file when it is complete.
    """

    job: int | None
    pipeline: int
    checkpoint: int
    written_at: int | None
    number: int | None
    unfinished: bool = False


def file_name(path: str) -> FileName | None:
    """Parse the path of a file in the upload; None for a name of another kind."""
    folder, name = PurePosixPath(path).parent.name, PurePosixPath(path).name
    if stored := _STORED.fullmatch(name):
        written_at, number, pipeline, checkpoint = map(int, stored.groups()[:4])
        job = int(folder) if folder.isascii() and folder.isdigit() and len(folder) < 20 else None
        unfinished = stored[5] == "sertmp"
        return FileName(job, pipeline, checkpoint, written_at, number, unfinished)
    if bundled := _BUNDLED.fullmatch(name):
        unfinished = ".staging" in PurePosixPath(path).parts
        return FileName(None, int(bundled[1]), int(bundled[2]), None, None, unfinished)
    return None


@dataclass(frozen=True, slots=True)
class ActionName:
    """The parts of an action's key.

    Attributes:
        name: the name without the engine's prefix.
        role: SOURCE, TRANSFORM, SINK or SHUFFLE, inferred from the name; None if it is unknown.
    """

    name: str
    pipeline: int | None = None
    role: str | None = None


def action_name(key: str | int) -> ActionName:
    """Parse the key of an ActionState."""
    if isinstance(key, int):
        return ActionName(str(key))
    match = _KEY.fullmatch(key)
    if match is None:
        return ActionName(key)
    name = match[3] if match[2] is None else match[2]
    role = next((role for start, role in _ROLES.items() if name.startswith(start)), None)
    return ActionName(name, None if match[1] is None else int(match[1]), role)
