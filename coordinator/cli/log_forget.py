"""`coordinator log forget-directory`: gives up what was in a log directory that is lost."""

import time
import uuid
from pathlib import Path

import click

from coordinator.log.config import METADATA_LOG_CONFIG
from coordinator.log.data_dirs.directory import LogDirectory
from coordinator.log.data_dirs.meta_properties import META_PROPERTIES, parse_properties
from coordinator.log.errors import LogError
from coordinator.log.names import METADATA_LOG, folder_name
from coordinator.metadata.store import MetadataError, MetadataStore
from coordinator.printable import printable


@click.command("forget-directory")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("lost", metavar="LOST")
def command(folder: Path, lost: str) -> None:
    """Give up the partitions that are in the log directory LOST: they begin again, empty, in other directories.

    DIR is the directory with the metadata log, which no server may use. LOST is the path or the directory.id of a log
    directory that the server no longer finds. Its files, if there are any, are not touched.
    """
    try:
        if not (folder / folder_name(METADATA_LOG, 0)).is_dir():
            raise click.ClickException(f"{folder} has no metadata log")
        properties = parse_properties(folder / META_PROPERTIES, (folder / META_PROPERTIES).read_bytes())
        directory = LogDirectory.open(folder, node_id=int(properties["node.id"]))
        try:
            count = _forget(directory, lost)
        finally:
            directory.close(clean=directory.had_clean_shutdown)
    except (LogError, MetadataError, OSError) as problem:
        raise click.ClickException(printable(str(problem))) from problem
    click.echo(f"{count} partitions of {printable(lost)} are given up; they are created again, empty")


def _forget(directory: LogDirectory, lost: str) -> int:
    """Take a directory out of the metadata; return how many partitions it had.

    Raises:
        ClickException: there is no such directory, or it is this one.
        LogError, MetadataError, OSError: the metadata log cannot be read or written.
    """
    store = MetadataStore(directory.open_metadata_log(METADATA_LOG_CONFIG), lambda: uuid.uuid4().bytes)
    path_by_id = store.image.log_directories
    found = next(
        (key for key, path in path_by_id.items() if lost == key or Path(lost).resolve() == Path(path).resolve()), None
    )
    if found is None or found == directory.directory_id:
        others = [f"{path} ({key})" for key, path in path_by_id.items() if key != directory.directory_id]
        raise click.ClickException(
            printable(f"no other log directory has this path or id: {lost}; known: {', '.join(others) or 'none'}")
        )
    moved = {
        topic.name: ["" if directory == found else directory for directory in topic.directories]
        for topic in store.image.topics.values()
        if found in topic.directories
    }
    count = store.image.partitions_by_directory[found]
    left = {key: path for key, path in path_by_id.items() if key != found}
    store.assign_directories(moved, left, time.time_ns() // 1_000_000)
    return count
