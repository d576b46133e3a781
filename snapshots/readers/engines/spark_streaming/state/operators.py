"""Read stateful operators from ``state/<operator>/_metadata``, versions 1 and 2.

Source: Spark's OperatorStateMetadataV1, OperatorStateMetadataV2.
"""

from dataclasses import dataclass

from snapshots.readers.engines.spark_streaming.documents import (
    Json,
    NotReadable,
    parse_object,
    text_of,
    whole,
)
from snapshots.readers.engines.spark_streaming.files import DamagedFile, Files
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.logs.text_logs import numbered, read_log

NEWEST = 2
MOST_PARTITIONS = 100_000
NOT_APPLICABLE = -1
JOIN = "symmetricHashJoin"
ONE_PARTITION = "globalLimit"


@dataclass(frozen=True)
class StoreInfo:
    """One state store of an operator.

    Attributes:
        prefix_columns: how many columns of the key a prefix scan uses; -1 in version 2, where the
            schema has the number for each column family.
    """

    name: str
    prefix_columns: int
    partitions: int


@dataclass(frozen=True)
class Operator:
    """A stateful operator.

    Attributes:
        name: none if the checkpoint has no operator metadata (before Spark 4.0).
        stores: none if the checkpoint has no operator metadata.
        properties: the properties in metadata of version 2 (transformWithState, joins of format 3).
        file: the path of the newest metadata.
        one_partition: whether all state is in partition 0, despite ``partitions``.
    """

    id: int
    name: str | None
    stores: tuple[StoreInfo, ...] | None
    partitions: int | None
    properties: dict[str, Json] | None = None
    file: str | None = None
    one_partition: bool = False

    @property
    def used_partitions(self) -> int | None:
        """Return how many partition folders there must be."""
        return 1 if self.one_partition else self.partitions

    @property
    def is_join(self) -> bool:
        return self.name == JOIN

    @property
    def state_variables(self) -> dict[str, str]:
        """Return the types of transformWithState's variables by name, without timers."""
        variables = (self.properties or {}).get("stateVariables")
        if not isinstance(variables, list):
            return {}
        return {
            variable["stateName"]: str(variable.get("stateVariableType"))
            for variable in variables
            if isinstance(variable, dict)
            and isinstance(variable.get("stateName"), str)
            and variable.get("stateVariableType") != "TimerState"
        }

    @property
    def has_timers(self) -> bool:
        mode = (self.properties or {}).get("timeMode")
        return isinstance(mode, str) and mode.lower() not in ("notime", "none")


def read_operator(
    files: Files, folder: str, partitions: int | None, limits: SparkLimits
) -> tuple[Operator, list[DamagedFile], list[str]]:
    """Return the operator, its damaged files, and the paths that were read.

    Args:
        files: the files of the checkpoint.
        folder: ``state/<operator>``.
        partitions: the number of partitions in the settings, used if there is no metadata.
        limits: upper bounds.
    """
    id = int(folder.rsplit("/", 1)[-1])
    operator = Operator(id, None, None, partitions)
    newer = numbered(files.children(f"{folder}/_metadata/v2"))
    candidates = ("metadata", *(f"v2/{batch}" for batch in newer))
    paths = [f"{folder}/_metadata/{name}" for name in candidates]
    read = [path for path in paths if path in files]
    damaged: list[DamagedFile] = []
    for path in read:
        try:
            operator = _read_metadata(files, path, id, limits)
        except DamagedFile as error:
            damaged.append(error)
    return operator, damaged, read


def _read_metadata(files: Files, path: str, id: int, limits: SparkLimits) -> Operator:
    log = read_log(files, path, NEWEST, limits)
    document = log.object(2, limits)
    try:
        info = document.get("operatorInfo")
        stores = document.get("stateStoreInfo")
        if not isinstance(info, dict) or not isinstance(stores, list) or not stores:
            raise NotReadable("It names no operator, or no store.")
        if whole(info, "operatorId") != id:
            raise NotReadable(f"It belongs to operator {info['operatorId']}.")
        infos = tuple(_store(store, log.version) for store in stores)
        properties = _properties(document, limits) if log.version > 1 else None
        name = text_of(info, "operatorName")
    except NotReadable as error:
        raise DamagedFile(path, str(error), 2) from error
    single = name == ONE_PARTITION
    return Operator(id, name, infos, infos[0].partitions, properties, path, single)


def _store(document: Json, version: int) -> StoreInfo:
    if not isinstance(document, dict):
        raise NotReadable("A store must be a JSON object.")
    partitions = whole(document, "numPartitions")
    if not 0 < partitions <= MOST_PARTITIONS:
        raise NotReadable(f"{partitions} partitions are not between 1 and {MOST_PARTITIONS:,}.")
    name = text_of(document, "storeName")
    if "/" in name or name.startswith((".", "_")):
        raise NotReadable("A store's name cannot be the name of a folder.")
    urls = document.get("stateSchemaFilePaths", [])
    if not isinstance(urls, list) or not all(isinstance(url, str) for url in urls):
        raise NotReadable('The field "stateSchemaFilePaths" must hold texts.')
    prefix = whole(document, "numColsPrefixKey") if version == 1 else NOT_APPLICABLE
    return StoreInfo(name, prefix, partitions)


def _properties(document: dict[str, Json], limits: SparkLimits) -> dict[str, Json] | None:
    text = document.get("operatorPropertiesJson")
    if not text:
        return None
    if not isinstance(text, str):
        raise NotReadable('The field "operatorPropertiesJson" must be a text.')
    return parse_object(text, limits.depth)
