"""The audit events as Spark columns, with types derived from `coordinator.audit.schema`.

Two kinds may have a field of the same name with different types (`partitions` is a number in some and a map in
others). So an event has the columns of the envelope and one struct column per kind, which is null for other kinds.
"""

from collections.abc import Iterable
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


def kind_column(kind: str) -> str:
    """The name of the struct column for `kind`: "generation.stable" → "generation_stable"."""
    return kind.replace(".", "_")


def typed_events(raw: DataFrame, kinds: Iterable[str]) -> DataFrame:
    """The events of one of `kinds` among `raw`, which has a binary column `value`.

    The columns are those of the envelope, and for each kind a struct of its own fields. A value that is not a JSON
    object of these kinds is left out. It stays in bronze, and a gap in `seq` shows it.
    """
    wanted = tuple(kinds)
    envelope = F.from_json("json", envelope_type()).alias("envelope")
    parsed = raw.select(F.col("value").cast("string").alias("json")).select("json", envelope)
    of_wanted_kind = parsed.where(F.col("envelope.kind").isin(*wanted))
    return of_wanted_kind.select("envelope.*", *(_own_fields(kind).alias(kind_column(kind)) for kind in wanted))


def _own_fields(kind: str) -> Column:
    shared = set(envelope_type().names)
    own = StructType([field for field in event_types()[kind].fields if field.name not in shared])
    return F.when(F.col("envelope.kind") == kind, F.from_json("json", own))
