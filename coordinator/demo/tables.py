"""The Spark job as a separate process: the JVM starts while the consumers run, and the job runs on request.

    python -m coordinator.demo.tables --bootstrap HOST:PORT --tables DIR --log FILE

Reports: `warm` once Spark is up; after a line on stdin, `written` when the tables are up to date; `failed` with
one line.
"""

import sys
from pathlib import Path

import click
from pyspark.errors import PySparkException

from coordinator.demo.reports import report
from coordinator.pipeline.bronze import AuditSource
from coordinator.pipeline.job import last_line, run_available
from coordinator.pipeline.jvm import SparkStartFailed
from coordinator.pipeline.session import spark_session
from coordinator.pipeline.tables import Tables


@click.command
@click.option("--bootstrap", required=True)
@click.option("--tables", required=True, type=click.Path(path_type=Path))
@click.option("--log", required=True, type=click.Path(path_type=Path))
def main(bootstrap: str, tables: Path, log: Path) -> None:
    """Start Spark, wait for a line on stdin, run the job once."""
    try:
        with spark_session(log) as spark:
            report("warm")
            if sys.stdin.readline():
                run_available(spark, AuditSource(bootstrap), Tables(tables))
                report("written")
    except SparkStartFailed as failed:
        report("failed", why=str(failed))
    except PySparkException as failed:
        report("failed", why=last_line(failed))


if __name__ == "__main__":
    main()
