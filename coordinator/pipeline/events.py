"""The audit events as Spark columns, with types derived from `coordinator.audit.schema`.

An event has the columns of all kinds; those of other kinds are null.
"""

from functools import cache
from typing import Final, get_args

import msgspec
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BooleanType, DataType, LongType, MapType, StringType, StructField, StructType

from coordinator.audit.schema import AnyAuditEvent, AuditEvent

_SCALARS: Final[dict[type[msgspec.inspect.Type], DataType]] = {
    msgspec.inspect.StrType: StringType(),
    msgspec.inspect.EnumType: StringType(),
    msgspec.inspect.IntType: LongType(),
    msgspec.inspect.BoolType: BooleanType(),
}


def spark_type(described: msgspec.inspect.Type) -> DataType:
    """The Spark type for a type of msgspec.

    Raises:
        TypeError: a type that no event has had so far.
    """
    match described:
        case msgspec.inspect.StructType(fields=fields):
            return StructType([StructField(field.encode_name, spark_type(field.type)) for field in fields])
        case msgspec.inspect.ListType(item_type=item):
            return ArrayType(spark_type(item))
        case msgspec.inspect.DictType(key_type=key, value_type=value):
            return MapType(spark_type(key), spark_type(value))
        case msgspec.inspect.UnionType(includes_none=True, types=(one, other)):
            return spark_type(other if isinstance(one, msgspec.inspect.NoneType) else one)
    try:
        return _SCALARS[type(described)]
    except KeyError:
        raise TypeError(f"no Spark type for {described}") from None


@cache
def event_types() -> dict[str, StructType]:
    """Kind → the type of the whole JSON object of that kind, envelope first, without `kind`."""
    types = {}
    for event in get_args(AnyAuditEvent):
        described = spark_type(msgspec.inspect.type_info(event))
        assert isinstance(described, StructType), event
        types[event.__struct_config__.tag] = described
    return types


def envelope_type() -> StructType:
    """The fields that every event has, and its `kind`."""
    shared = spark_type(msgspec.inspect.type_info(AuditEvent))
    assert isinstance(shared, StructType), AuditEvent
    return StructType([StructField("kind", StringType()), *shared.fields])


def union_type() -> StructType:
    """The fields of all kinds together, envelope first, so that one parse reads an event of any kind.

    If kinds have a field of the same name with different types (`partitions` is a number in some and a map in others),
    it is a string here: the JSON text of the field.
    """
    found: dict[str, DataType] = {field.name: field.dataType for field in envelope_type().fields}
    for kind in event_types().values():
        for field in kind.fields:
            known = found.setdefault(field.name, field.dataType)
            if known != field.dataType:
                found[field.name] = StringType()
    return StructType([StructField(name, found[name]) for name in found])


TOPIC_PARTITIONS: Final = "map<string, array<bigint>>"
"""The type of a map of partitions whose column is a string in `union_type`."""


def parsed(raw: DataFrame) -> DataFrame:
    """Add the columns of `union_type` to `raw`, which has a string column `value`. They are null if it is no object.

    A field of an unknown name and a kind of an unknown name remain in `value`.
    """
    # Columns that nobody reads are not parsed: Spark prunes the schema of from_json only for a struct that is selected.
    return raw.withColumn("event", F.from_json("value", union_type())).select("*", "event.*").drop("event")


def number(column: str) -> Column:
    """A column of `union_type` that is text because only some kinds have a number; null for the others."""
    return F.col(column).try_cast("bigint")
