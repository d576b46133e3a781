"""Decode the state of one partition from its files, without Spark."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from snapshots.readers.engines.spark_streaming.checkpoint import CONF, SparkCheckpoint
from snapshots.readers.engines.spark_streaming.documents import Json
from snapshots.readers.engines.spark_streaming.files import DamagedFile, FileNotRead
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.state.deltas import MERGE, Record, read_records
from snapshots.readers.engines.spark_streaming.state.forms import ENCODERS, Form, WrongChecksum
from snapshots.readers.engines.spark_streaming.state.operators import Operator, StoreInfo
from snapshots.readers.engines.spark_streaming.state.reading_rows import LIST, rows_of
from snapshots.readers.engines.spark_streaming.state.readings import (
    STORE,
    VARIABLE,
    Reading,
    readings_of,
)
from snapshots.readers.engines.spark_streaming.state.rocksdb_tables import read_tables
from snapshots.readers.engines.spark_streaming.state.rocksdb_zips import RocksSnapshot, read_zip
from snapshots.readers.engines.spark_streaming.state.schemas import ColumnFamily, StateSchema
from snapshots.readers.engines.spark_streaming.state.store_files import (
    CHANGELOG,
    ZIP,
    Chain,
    PartitionFiles,
    VersionFile,
    chain,
)
from snapshots.readers.formats.cursor import Malformed

UPDATE, DELETE = "update", "delete"
MOST_KEPT = 64 * 2**20  # bytes of files of state, unpacked
UNSAFE_ROWS, AVRO = "unsaferow", "avro"


class NotDecodable(Exception):
    """Only Spark can read this state, or nothing can; the message is a sentence."""


@dataclass
class Left:
    """How much may still be read of one state at one batch, over all its partitions."""

    bytes: int
    records: int

    @classmethod
    def of(cls, limits: SparkLimits) -> "Left":
        return cls(limits.state_bytes, limits.state_records)


@dataclass
class Kept:
    """Files of state that were read, so that further versions of a state need not read them again.

    Attributes:
        left: how many bytes may still be kept.
    """

    left: int = MOST_KEPT
    changes: dict[Path, tuple[list[Record], int]] = field(default_factory=dict)
    snapshots: dict[Path, RocksSnapshot] = field(default_factory=dict)
    pairs: dict[Path, dict[bytes, bytes]] = field(default_factory=dict)

    def records(
        self, checkpoint: SparkCheckpoint, file: VersionFile, most: int, limits: SparkLimits
    ) -> tuple[list[Record], int]:
        """Return the changes in a file, and its unpacked size in bytes. Raises: DamagedFile."""
        path = checkpoint.files.root / file.path
        if path not in self.changes:
            found = read_records(checkpoint.files, file, checkpoint.codec, most, limits)
            if not self._has_room(found[1]):
                return found
            self.changes[path] = found
        return self.changes[path]

    def snapshot(
        self, checkpoint: SparkCheckpoint, file: VersionFile, limits: SparkLimits
    ) -> RocksSnapshot:
        """Return what a snapshot of RocksDB says of itself. Raises: DamagedFile."""
        path = checkpoint.files.root / file.path
        if path not in self.snapshots:
            self.snapshots[path] = read_zip(checkpoint.files, file.path, limits)
        return self.snapshots[path]

    def content(
        self, checkpoint: SparkCheckpoint, file: VersionFile, limits: SparkLimits
    ) -> dict[bytes, bytes]:
        """Return the keys and values in a snapshot of RocksDB. Raises: DamagedFile."""
        path = checkpoint.files.root / file.path
        if path not in self.pairs:
            tables = self.snapshot(checkpoint, file, limits).tables
            pairs = read_tables(checkpoint.files, tables, limits)
            if not self._has_room(sum(len(key) + len(value) for key, value in pairs.items())):
                return pairs
            self.pairs[path] = pairs
        return self.pairs[path]

    def _has_room(self, size: int) -> bool:
        self.left -= size
        return self.left >= 0


@dataclass(frozen=True)
class Place:
    """One partition of one store of one operator."""

    operator: int
    store: str
    partition: int


def read_partition(
    checkpoint: SparkCheckpoint,
    operator: int,
    reading: Reading,
    partition: int,
    version: int,
    limits: SparkLimits,
    left: Left | None = None,
    kept: Kept | None = None,
) -> list[dict[str, Json]]:
    """Return the rows of one version of a state, with ``key`` and ``value``, in no order.

    Args:
        checkpoint: the checkpoint.
        operator, reading, partition, version: which state.
        limits: upper bounds.
        left: what may be read, if several partitions share it; it is reduced.
        kept: files that were read, if several versions share them.

    Raises: NotDecodable, DamagedFile.
    """
    left, kept = left or Left.of(limits), kept or Kept()
    place = Place(operator, store_of(checkpoint, operator, reading), partition)
    needed = chain_of(checkpoint, place, version)
    if needed.lacking:
        raise NotDecodable(
            f"Partition {partition} lacks {needed.missing}"
            + (f" and {needed.lacking - 1:,} more files" if needed.lacking > 1 else "")
            + f", so that version {version} of its state cannot be put together."
        )
    form = form_of(checkpoint, place, reading, needed.files, limits, kept)
    state = _put_together(checkpoint, form, needed, left, limits, kept)
    left.records -= len(state)
    if left.bytes < 0 or left.records < 0:
        raise NotDecodable(
            f"Up to partition {partition} this state has more than {limits.state_records:,} keys "
            f"or {limits.state_bytes:,} bytes, the most that is read of its files."
        )
    path = needed.files[-1].path if needed.files else "state"
    with decoding(path):
        return rows_of(reading, _variable(checkpoint, operator, reading), form, state)


def _put_together(
    checkpoint: SparkCheckpoint,
    form: Form,
    needed: Chain,
    left: Left,
    limits: SparkLimits,
    kept: Kept,
) -> dict[bytes, bytes]:
    """Return the values of one state by key."""
    state: dict[bytes, bytes] = {}
    for file in needed.files:
        if file.kind == ZIP:
            state = kept.content(checkpoint, file, limits)
            left.bytes -= sum(len(key) + len(value) for key, value in state.items())
            state = {key: state[key] for key in state if key.startswith(form.prefix)}
            continue
        records, size = kept.records(checkpoint, file, max(0, left.bytes), limits)
        left.bytes -= size
        with decoding(file.path):
            _apply(state, records, form)
    return state


def _apply(state: dict[bytes, bytes], records: Iterable[Record], form: Form) -> None:
    """Apply changes to the values of one state by key. Raises: Malformed."""
    for record in records:
        if record.value is None:
            state.pop(form.deleted_key(record.key), None)
        elif not record.key.startswith(form.prefix):
            continue
        elif record.action == MERGE:
            state[record.key] = state.get(record.key, b"") + record.value
        else:
            state[record.key] = record.value


def read_changes(
    checkpoint: SparkCheckpoint,
    operator: int,
    reading: Reading,
    partition: int,
    batches: range,
    limits: SparkLimits,
    left: Left | None = None,
) -> list[dict[str, Json]]:
    """Return the changes of batches, in order: rows of ``batch``, ``change``, ``key``, ``value``.

    ``change`` is UPDATE or DELETE; the value of a DELETE is None. The arguments are those of
    ``read_partition``. Raises: NotDecodable, DamagedFile.
    """
    place = Place(operator, store_of(checkpoint, operator, reading), partition)
    left = left or Left.of(limits)
    changes = []
    for batch in batches:
        ids = ids_of(checkpoint, place)
        file = listed(checkpoint, place).changes(batch + 1, ids)
        if file is None:
            raise NotDecodable(f"Partition {partition} has no file of what batch {batch} changed.")
        form = form_of(checkpoint, place, reading, (file,), limits, Kept())
        if form.id is not None:
            raise NotDecodable("The store has column families, whose changes only Spark reads.")
        records, size = read_records(
            checkpoint.files, file, checkpoint.codec, max(0, left.bytes), limits
        )
        left.bytes -= size
        left.records -= len(records)
        if left.records < 0:
            raise NotDecodable(
                f"Up to partition {partition} there are more than {limits.state_records:,} "
                "changes, the most that are read of files."
            )
        with decoding(file.path):
            changes += [{"batch": batch, **_change(form, record)} for record in records]
    return changes


def _change(form: Form, record: Record) -> dict[str, Json]:
    if record.value is None:
        key = form.key(form.deleted_key(record.key))
        return {"change": DELETE, "key": key, "value": None}
    value = next(form.values(record.key, record.value))
    return {"change": UPDATE, "key": form.key(record.key), "value": value}


def store_of(checkpoint: SparkCheckpoint, operator: int, reading: Reading) -> str:
    """Return the store of a reading; a join of state format 3 or later has one for all."""
    return reading.store_in(checkpoint.versions.get(operator, {}))


def operator_of(checkpoint: SparkCheckpoint, id: int) -> Operator | None:
    return next((one for one in checkpoint.operators if one.id == id), None)


def form_of(
    checkpoint: SparkCheckpoint,
    place: Place,
    reading: Reading,
    files: Iterable[VersionFile],
    limits: SparkLimits,
    kept: Kept,
) -> Form:
    """Return how the keys and values of a state are kept. Raises: NotDecodable, DamagedFile.

    Args:
        files: those that make up the state.
    """
    schema = checkpoint.schemas.get((place.operator, place.store))
    if schema is None:
        raise NotDecodable(
            f"There is no readable schema of the store {place.store!r} of operator "
            f"{place.operator}, and without it its bytes have no meaning."
        )
    files = tuple(files)
    settings = checkpoint.settings
    encoding = settings.get(CONF + "encodingFormat", UNSAFE_ROWS)
    has_families = schema.version > 2
    if encoding not in (UNSAFE_ROWS, AVRO) or (encoding == AVRO and not has_families):
        raise NotDecodable(f"The encoding {encoding[:40]!r} of this state is not read here.")
    form = Form(
        family=replace(schema.default, prefix_columns=_prefix_columns(checkpoint, place)),
        is_rocksdb=any(file.kind in (CHANGELOG, ZIP) for file in files),
        is_avro=encoding == AVRO,
        has_checksums=settings.get(CONF + "rowChecksum.enabled") == "true",
        may_have_prefix=not has_families and not _stores(checkpoint, place.operator),
    )
    if not has_families:
        return form
    family = _family(schema, reading)
    variable = _variable(checkpoint, place.operator, reading)
    return replace(
        form,
        family=family,
        id=_family_id(checkpoint, place, family.name, files, limits, kept),
        has_lists=variable == LIST or family.has_event_time_in_key,
    )


def _family(schema: StateSchema, reading: Reading) -> ColumnFamily:
    """Return the column family of a reading. Raises: NotDecodable."""
    names = reading.families
    family = next((one for one in schema.families if one.name in names), None)
    if family is None:
        raise NotDecodable(f"The schema names no column family {names[0]!r}.")
    if family.encoder_name not in ENCODERS:
        raise NotDecodable(
            f"Keys of {family.name!r} are encoded by {family.encoder_name!r}, which is not read "
            "here."
        )
    return family


def _variable(checkpoint: SparkCheckpoint, operator: int, reading: Reading) -> str | None:
    """Return the type of the state variable that is read; None for another reading."""
    known = operator_of(checkpoint, operator)
    if known is None or reading.kind != VARIABLE:
        return None
    return known.state_variables.get(reading.name or "")


def _family_id(
    checkpoint: SparkCheckpoint,
    place: Place,
    name: str,
    files: Sequence[VersionFile],
    limits: SparkLimits,
    kept: Kept,
) -> int:
    """Return the id of a column family, which snapshots name. Raises: NotDecodable, DamagedFile.

    An id stays that of its family; so a snapshot of another version tells it, too.
    """
    for file in (*files, *listed(checkpoint, place).files):
        if file.kind == ZIP:
            families = kept.snapshot(checkpoint, file, limits).families
            if name in families:
                return families[name]
    raise NotDecodable(f"No snapshot names the id of the column family {name!r}.")


def _prefix_columns(checkpoint: SparkCheckpoint, place: Place) -> int:
    stores = _stores(checkpoint, place.operator)
    return max(0, next((one.prefix_columns for one in stores if one.name == place.store), 0))


def _stores(checkpoint: SparkCheckpoint, operator: int) -> tuple[StoreInfo, ...]:
    """Return the stores in an operator's metadata; none if it has no metadata."""
    known = operator_of(checkpoint, operator)
    return known.stores or () if known is not None else ()


def chain_of(checkpoint: SparkCheckpoint, place: Place, version: int) -> Chain:
    """Return the files that make up a version. Raises: NotDecodable if there is no partition."""
    return chain(listed(checkpoint, place), version, ids_of(checkpoint, place))


def listed(checkpoint: SparkCheckpoint, place: Place) -> PartitionFiles:
    """Return the state files of a partition. Raises: NotDecodable if there are none."""
    partitions = checkpoint.versions.get(place.operator, {}).get(place.store, {})
    if place.partition not in partitions:
        raise NotDecodable(
            f"There are no files of partition {place.partition} of the store {place.store!r}."
        )
    return partitions[place.partition]


def ids_of(checkpoint: SparkCheckpoint, place: Place) -> dict[int, str]:
    return checkpoint.state_ids(place.operator, place.store, place.partition)


@contextmanager
def decoding(path: str) -> Iterator[None]:
    """Say of which file a row is not read.

    Raises: FileNotRead, for Spark itself does not check rows; DamagedFile by a checksum.
    """
    try:
        yield
    except WrongChecksum as error:
        raise DamagedFile(path, f"{error}.") from error
    except Malformed as error:
        raise FileNotRead(path, f"A row is not read here: {error}.") from error


def check_state(
    checkpoint: SparkCheckpoint, place: Place, file: VersionFile, limits: SparkLimits
) -> None:
    """Check one state file, as far as it can be read without Spark. Raises: DamagedFile."""
    kept = Kept()
    pairs: list[tuple[bytes, bytes | None]]
    if file.kind == ZIP:
        pairs = [*kept.content(checkpoint, file, limits).items()]
    else:
        records, _ = read_records(
            checkpoint.files, file, checkpoint.codec, limits.state_bytes, limits
        )
        pairs = [(record.key, record.value) for record in records]
    for reading in _readings(checkpoint, place):
        try:
            form = form_of(checkpoint, place, reading, (file,), limits, kept)
        except NotDecodable:
            continue
        with decoding(file.path):
            for key, value in pairs:
                _check_row(form, key, value)


def _check_row(form: Form, key: bytes, value: bytes | None) -> None:
    if value is None:
        key = form.deleted_key(key)
    if key.startswith(form.prefix):
        form.key(key)
        for _ in form.values(key, value) if value is not None else ():
            pass


def _readings(checkpoint: SparkCheckpoint, place: Place) -> Iterable[Reading]:
    """Return what is read of a store: its column families, or itself."""
    operator = operator_of(checkpoint, place.operator)
    schema = checkpoint.schemas.get((place.operator, place.store))
    if operator is None or schema is None or schema.version < 3:
        return (Reading(STORE, place.store),)
    return readings_of(operator, checkpoint.versions)
