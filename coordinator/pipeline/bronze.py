"""Bronze: the records of the audit topic as they came, appended. The only query that reads Kafka.

Everything else reads this table, so a table that is new, or built anew, needs no history from the topic, whose time
retention may have taken it.
"""

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from coordinator.internal_topics import AUDIT_TOPIC
from coordinator.pipeline.tables import BRONZE, Tables

COLUMNS = StructType(
    [
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField(
            "headers",
            ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())])),
        ),
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
    ]
)


@dataclass(frozen=True, slots=True)
class AuditSource:
    """Which topic of which cluster to read.

    With `accept_data_loss` a query goes on when records it has not read yet are gone from the topic. By default it
    stops with the connector's message instead: an audit that skips history in silence is worse than one that stands
    still, and only a person can tell whether a job was merely off for longer than the retention.
    """

    bootstrap: str
    topic: str = AUDIT_TOPIC
    accept_data_loss: bool = False

    def records(self, spark: SparkSession) -> DataFrame:
        """The topic as a stream from its first record on, in the columns of COLUMNS."""
        stream = (
            spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", self.bootstrap)
            .option("subscribe", self.topic)
            .option("startingOffsets", "earliest")
            .option("includeHeaders", "true")
            .option("failOnDataLoss", str(not self.accept_data_loss).lower())
        )
        return stream.load().select(*COLUMNS.names)


def bronze_query(spark: SparkSession, source: AuditSource, tables: Tables) -> DataStreamWriter:
    """Topic → bronze. Delta notes the batch number with each append, so a batch repeated after a crash adds nothing."""
    tables.create(spark, BRONZE, COLUMNS)
    return (
        source.records(spark)
        .writeStream.format("delta")
        .outputMode("append")
        .queryName(BRONZE)
        .option("checkpointLocation", tables.checkpoint(BRONZE))
        .option("path", tables.path(BRONZE))
    )
