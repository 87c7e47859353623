"""How many records of `__consumer_offsets` a second of CPU the pipeline takes from bronze into the other tables.

python tests/bench/bench_consumer_offsets.py            # RECORDS=1000000

Of the records, one in GROUP_RECORD_EVERY is that of a classic group with a new generation; the others commit offsets.
CPU is that of the JVM, of Spark's Python workers and of this process.
"""

import os
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time

from deltalake import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from _wire.embedded import encode_versioned  # noqa: E402
from _wire.messages.consumer_protocol_assignment import ConsumerProtocolAssignment, TopicPartition  # noqa: E402
from _wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription  # noqa: E402
from _wire.messages.group_metadata_record import GroupMetadataKey, GroupMetadataValue, MemberMetadata  # noqa: E402
from _wire.messages.offset_commit_record import OffsetCommitKey, OffsetCommitValue  # noqa: E402
from coordinator.pipeline.batch import Batches  # noqa: E402
from coordinator.pipeline.folder import PROPERTIES, SCHEMAS  # noqa: E402
from coordinator.pipeline.names import BRONZE, GENERATIONS  # noqa: E402
from coordinator.pipeline.reader import query  # noqa: E402
from coordinator.pipeline.reading import Reading, consumer_offsets_reading  # noqa: E402
from coordinator.pipeline.session import spark_session  # noqa: E402
from coordinator.pipeline.tables import Tables  # noqa: E402
from tests.bench.bench_pipeline import jvm_of  # noqa: E402
from tests.bench.pipeline_end_to_end import cpu_seconds  # noqa: E402

GROUPS = 100
PARTITIONS = 12
GROUP_RECORD_EVERY = 100
FILE_RECORDS = 100_000


def group_record(group_id: str, generation: int) -> tuple[bytes, bytes]:
    """Four members share the partitions; each generation replaces one of them."""
    subscription = encode_versioned(ConsumerProtocolSubscription(topics=["orders"]), 3)
    members = []
    for place in range(4):
        owned = TopicPartition(topic="orders", partitions=range(place, PARTITIONS, 4))
        assignment = encode_versioned(ConsumerProtocolAssignment(assigned_partitions=[owned]), 3)
        name = f"consumer-{generation + place}"
        member_id = f"{name}-5f1c0c4e-77b1-4a4b-8f3c-{generation + place:012}"
        who = MemberMetadata(member_id=member_id, client_id=name, client_host="/10.0.4.7", session_timeout=45_000)
        who.subscription, who.assignment = subscription, assignment
        members.append(who)
    value = GroupMetadataValue(protocol_type="consumer", generation=generation, protocol="range", members=members)
    value.leader = members[0].member_id
    return encode_versioned(GroupMetadataKey(group=group_id), 2), encode_versioned(value, 3)


def made(first: int, count: int) -> list[tuple[bytearray, bytearray, int]]:
    found = []
    for offset in range(first, first + count):
        group_id = f"group-{offset % GROUPS}"
        if offset // GROUPS % GROUP_RECORD_EVERY == 0:
            key, value = group_record(group_id, offset // GROUPS // GROUP_RECORD_EVERY + 1)
        else:
            place = offset // GROUPS % PARTITIONS
            key = encode_versioned(OffsetCommitKey(group=group_id, topic="orders", partition=place), 1)
            value = encode_versioned(OffsetCommitValue(offset=offset, commit_timestamp=1_700_000_000_000), 3)
        found.append((bytearray(key), bytearray(value), offset))
    return found


def fill_bronze(spark: SparkSession, tables: Tables, records: int) -> None:
    """Ten records a millisecond."""
    DeltaTable.create(tables.path(BRONZE), SCHEMAS[BRONZE], configuration=PROPERTIES)
    for first in range(0, records, FILE_RECORDS):
        rows = made(first, min(FILE_RECORDS, records - first))
        frame = spark.createDataFrame(rows, "key binary, value binary, offset bigint").coalesce(1)
        frame.select(
            F.lit("__consumer_offsets").alias("topic"),
            F.lit(0).alias("partition"),
            "offset",
            F.timestamp_millis(F.lit(1_700_000_000_000) + (F.col("offset") / 10).cast("bigint")).alias("timestamp"),
            "key",
            "value",
        ).write.format("delta").mode("append").save(tables.path(BRONZE))


def add_records(spark: SparkSession, tables: Tables, reading: Reading) -> None:
    """A batch per file of bronze."""
    batches = Batches(tables, reading.make_fold)
    for batch_id, file in enumerate(sorted(DeltaTable(tables.path(BRONZE)).file_uris())):
        batches.add_records(reading.select(spark.read.parquet(file)).toArrow(), batch_id)


def workers_cpu(jvm: int) -> float:
    """Seconds of CPU of the processes that the JVM started, and of theirs."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except FileNotFoundError:
            continue  # it has ended
    below = {jvm}
    while more := {pid for pid, parent in parents.items() if parent in below} - below:
        below |= more
    return sum(cpu_seconds(pid) for pid in below - {jvm})


def main(records: int) -> None:
    with tempfile.TemporaryDirectory() as folder, spark_session() as spark:
        tables = Tables(Path(folder))
        fill_bronze(spark, tables, records)
        jvm = jvm_of(spark)
        reading = consumer_offsets_reading("127.0.0.1:1")  # classic groups name their topics
        started, used = perf_counter(), cpu_seconds(jvm) + workers_cpu(jvm) + process_time()
        add_records(spark, tables, reading)
        seconds = perf_counter() - started
        cpu = cpu_seconds(jvm) + workers_cpu(jvm) + process_time() - used
        generations = len(query(tables.root, (GENERATIONS,), f"SELECT generation_id FROM {GENERATIONS}"))
        print(
            f"back-fill: {records:,} records ({generations:,} generations) in {seconds:.1f} s and {cpu:.1f} s of CPU "
            f"({workers_cpu(jvm):.1f} s of it in Python workers): "
            f"{records / seconds:,.0f} a second, {records / cpu:,.0f} a second of CPU"
        )


if __name__ == "__main__":
    main(int(os.environ.get("RECORDS", "1000000")))
