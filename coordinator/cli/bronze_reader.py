"""Reads the bronze table of the pipeline without a JVM."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click

from coordinator.client.audit_topic import AuditRecord, audit_record
from coordinator.pipeline.source_marker import CONSUMER_OFFSETS, source_of

BRONZE: Final = "bronze"


def bronze_records(tables: Path, group_id: str | None, *, with_coordinator: bool = False) -> Iterator[AuditRecord]:
    """The records of one group, or of all, by partition and offset.

    `with_coordinator`: of one group, with the events about the coordinator itself in the group's partition.

    Raises:
        ClickException: `deltalake` is not installed, there is no such table, or its records are no events.
    """
    if source_of(lambda name: Path(tables, name).read_bytes()) == CONSUMER_OFFSETS:
        raise click.ClickException(
            f"{tables} was made of __consumer_offsets, which has no events: see `coordinator pipeline show --tables`"
        )
    try:
        from deltalake import DeltaTable, QueryBuilder
        from deltalake.exceptions import DeltaError, TableNotFoundError
    except ModuleNotFoundError as missing:
        raise click.ClickException(f"{missing}; install the extra `tables`") from missing
    path = tables.absolute() / BRONZE
    if not path.is_dir():
        raise click.ClickException(f"there is no table {path}")
    only = f"WHERE key = X'{group_id.encode().hex()}'" if group_id is not None else ""
    try:
        engine: Any = QueryBuilder().register(BRONZE, DeltaTable(path))
        if only and with_coordinator:
            # A query of its own: a subquery in an OR takes a second for ten thousand records.
            found = engine.execute(f'SELECT DISTINCT "partition" FROM bronze {only}')
            partitions = [str(int(struct)) for batch in found for struct in batch.column(0).to_pylist()]
            only += f' OR (key IS NULL AND "partition" IN ({", ".join(partitions)}))' if partitions else ""
        batches = engine.execute(
            f'SELECT "partition", "offset", key, value FROM bronze {only} ORDER BY "partition", "offset"'
        )
        for batch in batches:
            columns = [batch.column(number).to_pylist() for number in range(4)]
            for partition, offset, key, value in zip(*columns, strict=True):
                yield audit_record(partition, offset, key, value)
    except TableNotFoundError as missing:
        raise click.ClickException(f"there is no table {path}") from missing
    except DeltaError as problem:
        first = str(problem).partition("\n")[0]
        raise click.ClickException(f"cannot read the table {path}: {first}") from problem
