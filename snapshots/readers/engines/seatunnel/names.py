"""Reads what SeaTunnel's names of files and of actions say.

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
    """written_at: epoch milliseconds; number: a random one. None: this kind of name has none.

    unfinished: the engine had not renamed it yet: writing was interrupted.
    """

    job: int | None
    pipeline: int
    checkpoint: int
    written_at: int | None
    number: int | None
    unfinished: bool = False


def file_name(path: str) -> FileName | None:
    """path: below the upload, with /. None for a name of another kind."""
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
    """role: SOURCE, TRANSFORM, SINK or SHUFFLE, inferred from the name; None where it tells none.

    name: without the words that the engine puts around it.
    """

    name: str
    pipeline: int | None = None
    role: str | None = None


def action_name(key: str | int) -> ActionName:
    """Of a key of an ActionState."""
    if isinstance(key, int):
        return ActionName(str(key))
    found = _KEY.fullmatch(key)
    if found is None:
        return ActionName(key)
    name = found[3] if found[2] is None else found[2]
    role = next((role for start, role in _ROLES.items() if name.startswith(start)), None)
    return ActionName(name, None if found[1] is None else int(found[1]), role)
