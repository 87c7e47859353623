"""The driver of Spark's Kafka source (Structured Streaming), in the version that the pipeline of this project uses.

A member is a streaming query. The source shares out partitions by itself and joins no group, so nothing is assigned or
committed; what it has read it tells per micro-batch. All queries run in one session, which starts with the driver.
"""

import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "_python"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))

import pyspark
from contract import Member, emit, positions_by_topic, run
from pyspark.sql import functions

from coordinator.pipeline.session import spark_session

CAN = {"pattern"}
LACKS = {"group", "commit", "commit-answer"}
RECONNECT_MS = {"reconnect.backoff.ms": "20", "reconnect.backoff.max.ms": "200"}


class SparkMember(Member):
    session = None

    def open(self):
        options = self.options
        if options.get("pattern"):
            what = "subscribePattern", options["pattern"]
        else:
            what = "subscribe", ",".join(options["topics"])
        consumer = {**RECONNECT_MS, "client.id": options.get("client_id") or self.name}
        if "metadata_max_age_ms" in options:
            consumer["metadata.max.age.ms"] = str(options["metadata_max_age_ms"])
        stream = (
            self.session.readStream.format("kafka")
            .option("kafka.bootstrap.servers", options["bootstrap"])
            .option(*what)
            .option("startingOffsets", "earliest")
            .options(**{f"kafka.{name}": value for name, value in consumer.items()})
            .load()
        )
        self.checkpoint = tempfile.TemporaryDirectory(prefix="interop-spark-")
        self.query = (
            stream.select("topic", "partition", "offset")
            .writeStream.foreachBatch(self.take_batch)
            .option("checkpointLocation", self.checkpoint.name)
            .start()
        )

    def take_batch(self, batch, _):
        runs = (
            batch.groupBy("topic", "partition")
            .agg(functions.min("offset"), functions.max("offset"), functions.count("offset"))
            .collect()
        )
        if runs:
            first = positions_by_topic(((topic, index), first) for topic, index, first, _, _ in runs)
            then = positions_by_topic(((topic, index), last + 1) for topic, index, _, last, _ in runs)
            count = sum(count for *_, count in runs)
            emit("records", member=self.name, positions=then, count=count, **{"from": first})

    def poll(self, seconds):
        """The query reads by itself; here it is noticed when it has failed."""
        if self.query.awaitTermination(seconds):
            raise RuntimeError(str(self.query.exception() or "the query has ended"))
        return [], 0

    def subscribe(self, topics):
        raise NotImplementedError("a query has one subscription")

    def commit(self):
        raise NotImplementedError("Spark keeps the offsets in its checkpoint")

    def close(self, reason):
        self.query.stop()
        self.checkpoint.cleanup()

    def is_fatal(self, problem):
        return isinstance(problem, RuntimeError)


def main():
    with spark_session() as session:
        SparkMember.session = session
        run("spark", pyspark.__version__, CAN, SparkMember, LACKS)


main()
