"""Read and write the manifest, which describes a stored recording as a whole."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from snapshots.domain.model.as_json import members_as_json
from snapshots.store.errors import OfAnotherVersion, StoreDamaged, StoreMissing
from snapshots.store.header_fields import HeaderFields
from snapshots.store.layout import MANIFEST, PARTED

FORMAT = "cutline-store"
VERSION = 3  # of the layout that is written
_READABLE = (2, VERSION)  # 2 has plain columns; a recording with another must be ingested again

_COUNTS = ("events", "messages", "markers", "processes", "channels", "snapshots", "defects")


@dataclass(frozen=True, slots=True)
class Part:
    """One file of a table.

    Attributes:
        file: the path relative to the recording's folder, with slashes.
    """

    table: str
    file: str
    rows: int


@dataclass(frozen=True, slots=True)
class Extent:
    """The first and the last instant of a recording, and its number of events.

    Attributes:
        from_: the first instant in the recording's time unit; 0 if there is no event.
        to: the last instant in the recording's time unit; 0 if there is no event.
        steps: the number of events.
    """

    from_: int
    to: int
    steps: int


@dataclass(frozen=True)
class Manifest:
    """The content of ``manifest.json``.

    Attributes:
        source_format: the name of the input's format, as its reader gives it.
        kinds: the kinds of events in the order of their codes.
        snapshots: the snapshots in the order of their codes.
        counts: the numbers of events, messages, markers, processes, channels, snapshots and
            defects.
        levels: the exponents of the bin widths in ``levels/``, finest first, for each axis.
        header_extra: the fields of the header that have no meaning here.
    """

    name: str
    time_unit: str
    source_format: str
    kinds: tuple[str, ...]
    snapshots: tuple[str, ...]
    counts: Mapping[str, int]
    extent: Extent
    parts: tuple[Part, ...] = ()
    levels: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    header_extra: Mapping[str, Any] = field(default_factory=dict)

    def parts_of(self, table: str) -> tuple[Part, ...]:
        """Return the parts of one table in the order of the numbers in the index."""
        return tuple(part for part in self.parts if part.table == table)

    def to_json(self, *, fields_beside: bool = False) -> str:
        """Return the text of ``manifest.json``, without ``header_extra`` if a table holds it."""
        own = members_as_json(self, without=("header_extra",))
        extra = None if fields_beside else dict(self.header_extra)
        content = {"format": FORMAT, "version": VERSION, **own, "header_extra": extra}
        return json.dumps(content, ensure_ascii=False, indent=1)

    @classmethod
    def from_json(
        cls, text: str, fields_beside: Callable[[], Mapping[str, Any]] = dict
    ) -> "Manifest":
        """Parse what ``to_json`` wrote. Raises: StoreDamaged.

        ``fields_beside`` opens ``header_extra`` if it is in a table.
        """
        try:
            return _checked(json.loads(text), fields_beside)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreDamaged(
                MANIFEST,
                f"It is not a manifest ({type(error).__name__}: {error}).",
                "Was it edited or cut short?",
            ) from error

    @classmethod
    def read(cls, folder: Path) -> "Manifest":
        """Read the manifest of the recording in ``folder``. Raises: StoreMissing, StoreDamaged."""
        try:
            text = (folder / MANIFEST).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            raise StoreMissing(folder) from None
        decoded = text.decode("utf-8", errors="replace")
        return cls.from_json(decoded, lambda: HeaderFields.open(folder))


def _checked(content: dict[str, Any], fields_beside: Callable[[], Mapping[str, Any]]) -> Manifest:
    if content["format"] != FORMAT:
        raise ValueError(f"its format is {content['format']!r}, not {FORMAT!r}")
    if content["version"] not in _READABLE:
        raise OfAnotherVersion.of_layout(MANIFEST, content["version"], _READABLE)
    extra = content["header_extra"]
    extent = Extent(*(int(content["extent"][key]) for key in ("from", "to", "steps")))
    return Manifest(
        name=str(content["name"]),
        time_unit=str(content["time_unit"]),
        source_format=str(content["source_format"]),
        kinds=tuple(map(str, content["kinds"])),
        snapshots=tuple(map(str, content["snapshots"])),
        counts={key: int(content["counts"][key]) for key in _COUNTS},
        extent=extent,
        parts=tuple(_part(item) for item in content["parts"]),
        levels={axis: tuple(map(int, widths)) for axis, widths in content["levels"].items()},
        header_extra=fields_beside() if extra is None else dict(extra),
    )


def _part(item: dict[str, Any]) -> Part:
    part = Part(item["table"], item["file"], int(item["rows"]))
    if part.table not in PARTED or Path(part.file).parts[:-1] != (part.table,) or part.rows < 1:
        raise ValueError(f"{item} is no part of a table")
    return part
