"""The types of columns of Flink SQL, nested ones with the columns in them.

Source: Flink, org.apache.flink.table.types.logical.
"""

from dataclasses import dataclass

IN_SQL = {
    "BooleanType": "BOOLEAN",
    "TinyIntType": "TINYINT",
    "SmallIntType": "SMALLINT",
    "IntType": "INT",
    "BigIntType": "BIGINT",
    "FloatType": "FLOAT",
    "DoubleType": "DOUBLE",
    "DateType": "DATE",
    "TimeType": "TIME",
    "CharType": "CHAR",
    "VarCharType": "VARCHAR",
    "BinaryType": "BINARY",
    "VarBinaryType": "VARBINARY",
    "DecimalType": "DECIMAL",
    "TimestampType": "TIMESTAMP",
    "LocalZonedTimestampType": "TIMESTAMP_LTZ",
    "ArrayType": "ARRAY",
    "MapType": "MAP",
    "MultisetType": "MULTISET",
    "RowType": "ROW",
    "VariantType": "VARIANT",
    "BitmapType": "BITMAP",
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a row. Precision, scale and length are 0 for types that have none.

    Attributes:
        type: the name of Flink's logical type, such as ``IntType``.
        nullable: whether it may be null; None where that is not told.
        inner: the columns in it: the element of an array or multiset, key and value of a map, the
            fields of a row or structured type.
        names: the names of the fields in it.
    """

    type: str
    precision: int = 0
    scale: int = 0
    length: int = 0
    nullable: bool | None = None
    inner: tuple["Column", ...] = ()
    names: tuple[str, ...] = ()

    @property
    def in_full(self) -> str:
        """The type as SQL writes it, ``DECIMAL(38, 0) NOT NULL``; the name where that is unknown.

        Flink compares all of it.
        """
        name = IN_SQL.get(self.type)
        if name is None or self.nullable is None:
            return self.type
        sizes = {"DECIMAL": f"({self.precision}, {self.scale})"}
        sizes |= dict.fromkeys(("CHAR", "VARCHAR", "BINARY", "VARBINARY"), f"({self.length})")
        sizes |= dict.fromkeys(("TIME", "TIMESTAMP", "TIMESTAMP_LTZ"), f"({self.precision})")
        null = "" if self.nullable else " NOT NULL"
        return f"{name}{self._inner() or sizes.get(name, '')}{null}"

    def _inner(self) -> str:
        parts = [column.in_full for column in self.inner]
        if self.names:
            pairs = zip(self.names, parts, strict=True)
            parts = [f"`{name}` {part}" for name, part in pairs]
        return f"<{', '.join(parts)}>" if parts else ""
