"""One run of the job, from the lock of the folder to the end of the session."""

import contextlib
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from coordinator.client.wire import ClientError
from coordinator.pipeline import job
from coordinator.pipeline.bronze import AuditSource
from coordinator.pipeline.folder import TableFolder
from coordinator.pipeline.hadoop import HadoopError, HadoopFiles, java_message
from coordinator.pipeline.hadoop_lock import sole_hadoop_job
from coordinator.pipeline.jvm import Interrupted, SparkStartFailed
from coordinator.pipeline.locations import Location
from coordinator.pipeline.preflight import sole_job
from coordinator.pipeline.session import spark_session
from coordinator.pipeline.source_marker import claim
from coordinator.pipeline.spark_tables import SparkTables
from coordinator.pipeline.state import StateMissing
from coordinator.pipeline.tables import LocalFiles, Tables


class JobFailed(RuntimeError):
    """Spark did not start, or a query failed. The message has no stack trace."""


class Settings(msgspec.Struct, frozen=True):
    """Where and how to run: the master and settings of Spark, and the interval of the batches (None: one pass).

    With `writes_archive`, the JVM writes an archive of its classes in the end. With `folds_on_executors`, the rows are
    made by the executors, whose Python must have this package.
    """

    master: str
    spark: Mapping[str, str]
    every_ms: int | None = None
    writes_archive: bool = False
    folds_on_executors: bool = False


def run_job(source: AuditSource, where: Location, settings: Settings, stop: threading.Event) -> bool:
    """Bring the tables up to date, once or until `stop` is set; return false if it was set before one pass ended.

    Raises:
        NotReady: the folder cannot be written, or another job writes to it.
        OtherSource: the folder holds tables made of another source.
        JavaMissing: there is no suitable Java.
        JobFailed: anything else. The tables contain whole batches, and the next run continues.
    """
    with contextlib.ExitStack() as held:
        if isinstance(where, Path):
            held.enter_context(sole_job(where))
            claim(LocalFiles(where), source.kind)
        try:
            session = spark_session(
                stop=stop, master=settings.master, chosen=settings.spark, writes_archive=settings.writes_archive
            )
            return _in_session(held.enter_context(session), source, where, settings, stop)
        except Interrupted:
            return False
        except SparkStartFailed as failed:
            raise JobFailed(str(failed)) from failed


def _in_session(
    spark: SparkSession, source: AuditSource, where: Location, settings: Settings, stop: threading.Event
) -> bool:
    """As run_job. What an error of Java says is asked of the JVM, so that happens before the session ends."""
    try:
        with _tables(spark, where, source.kind, stop) as tables:
            on_executors = settings.folds_on_executors
            if settings.every_ms is None:
                return job.run_available(spark, source, tables, stop, folds_on_executors=on_executors)
            job.run_continuously(spark, source, tables, settings.every_ms, stop, folds_on_executors=on_executors)
            return True
    except (HadoopError, ClientError, StateMissing) as failed:
        raise JobFailed(str(failed)) from failed
    except PySparkException as failed:
        raise JobFailed(job.last_line(failed)) from failed
    except Py4JJavaError as failed:
        raise JobFailed(java_message(failed)) from failed
    except (Py4JError, ConnectionError) as failed:
        if stop.is_set():  # Ctrl-C in a terminal ends the JVM of spark-submit too
            return False
        raise JobFailed(f"the JVM of Spark has ended: {type(failed).__name__}") from failed


@contextlib.contextmanager
def _tables(spark: SparkSession, where: Location, kind: str, stop: threading.Event) -> Iterator[TableFolder]:
    if isinstance(where, Path):
        yield Tables(where)
        return
    folder = HadoopFiles(spark, where)
    with sole_hadoop_job(folder, stop) as lock:
        claim(folder, kind)
        yield SparkTables(spark, folder.uri, lock)
