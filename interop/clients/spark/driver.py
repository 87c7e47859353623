"""The driver of Spark's Kafka source (Structured Streaming), in the version that the pipeline of this project uses.

A member is a streaming query. The source shares out partitions by itself and joins no group, so nothing is assigned or
committed; what it has read it tells per micro-batch. All queries run in one session, which starts with the driver.
"""

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "_python"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))

import pyspark
from contract import LOGINS, TLS, Member, emit, positions_by_topic, run
from pyspark.sql import functions

from coordinator.pipeline.session import spark_session

CAN = {"pattern", *TLS, *LOGINS}
LACKS = {"group", "commit", "commit-answer"}
RECONNECT_MS = {"reconnect.backoff.ms": "20", "reconnect.backoff.max.ms": "200"}

MODULES = "org.apache.kafka.common.security."
TOKEN_HANDLER = f"{MODULES}oauthbearer.OAuthBearerLoginCallbackHandler"


def secured(security, folder, system):
    """The settings of Kafka's consumer for the field `security` of a command.

    A token is read from a file in `folder`, which a property of the JVM, `system`, has to allow.
    """
    settings = {
        "security.protocol": security["protocol"],
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": security["ca"],
    }
    if "certificate" in security:
        settings |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.key": Path(security["key"]).read_text(encoding="ascii"),
            "ssl.keystore.certificate.chain": Path(security["certificate"]).read_text(encoding="ascii"),
        }
    if "mechanism" not in security:
        return settings
    settings["sasl.mechanism"] = security["mechanism"]
    if security["mechanism"] == "OAUTHBEARER":
        token = Path(folder, "token.jwt")
        token.write_text(security["token"], encoding="ascii")
        system.setProperty("org.apache.kafka.sasl.oauthbearer.allowed.urls", token.as_uri())
        settings["sasl.jaas.config"] = f"{MODULES}oauthbearer.OAuthBearerLoginModule required;"
        settings["sasl.oauthbearer.token.endpoint.url"] = token.as_uri()
        settings["sasl.login.callback.handler.class"] = TOKEN_HANDLER
    else:
        module = "plain.PlainLoginModule" if security["mechanism"] == "PLAIN" else "scram.ScramLoginModule"
        login = f'username="{security["username"]}" password="{security["password"]}"'
        settings["sasl.jaas.config"] = f"{MODULES}{module} required {login};"
    return settings


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
        self.folder = tempfile.TemporaryDirectory(prefix="interop-spark-")
        if options.get("security"):
            consumer |= secured(options["security"], self.folder.name, self.session._jvm.java.lang.System)
        stream = (
            self.session.readStream.format("kafka")
            .option("kafka.bootstrap.servers", options["bootstrap"])
            .option(*what)
            .option("startingOffsets", "earliest")
            .options(**{f"kafka.{name}": value for name, value in consumer.items()})
            .load()
        )
        self.query = (
            stream.select("topic", "partition", "offset")
            .writeStream.foreachBatch(self.take_batch)
            .option("checkpointLocation", os.path.join(self.folder.name, "checkpoint"))
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
        self.folder.cleanup()

    def is_fatal(self, problem):
        return isinstance(problem, RuntimeError)


def main():
    with spark_session() as session:
        SparkMember.session = session
        run("spark", pyspark.__version__, CAN, SparkMember, LACKS)


main()
