"""`coordinator log`: the files of a data folder."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from _wire.errors import MalformedMessage
from _wire.records import CorruptBatch, parse_records
from coordinator.cli.error_lines import ErrorLines
from coordinator.cli.log_dump import command as dump_command
from coordinator.cli.log_forget import command as forget_command
from coordinator.cli.log_kafka import export_command, import_command
from coordinator.cli.progress import progress_bar
from coordinator.cli.terminal import INTERRUPTED
from coordinator.config.key import INT64_MAX
from coordinator.log.config import LogConfig
from coordinator.log.data_dirs.directory import LOCK, LogDirectory
from coordinator.log.data_dirs.meta_properties import META_PROPERTIES, parse_properties
from coordinator.log.errors import LogError
from coordinator.log.files import DiskFileSystem, FileSystem
from coordinator.log.names import METADATA_LOG, folder_name
from coordinator.log.partition.read_only import ReadOnlyFileSystem
from coordinator.log.recovery.damage import Damage, offsets_between, scan
from coordinator.log.recovery.last_stop import CLEAN_SHUTDOWN
from coordinator.log.recovery.repair import Repaired, rebuild, remove_indexes, repair_log, wrong_indexes
from coordinator.log.recovery.verify import Problem, TopicOfMetadata, Totals, Verifier, log_bytes, stored_partitions
from coordinator.log.segments.files import base_offsets as base_offsets_of
from coordinator.log.segments.segment import Segment
from coordinator.logger import lines_of_this_thread_to
from coordinator.metadata.image import MetadataImage
from coordinator.metadata.records import decode_record
from coordinator.printable import printable

DATA_FOLDER: Final = click.argument(
    "folder", metavar="DIR", type=click.Path(path_type=Path, exists=True, file_okay=False)
)


@click.group
def command() -> None:
    """Check, print and repair the files of a data folder."""


command.add_command(dump_command)
command.add_command(forget_command)
command.add_command(import_command)
command.add_command(export_command)


@contextmanager
def _errors_in_one_line() -> Iterator[None]:
    try:
        yield
    except (LogError, OSError) as problem:
        raise click.ClickException(printable(str(problem))) from problem
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


@command.command
@click.argument(
    "folders", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, file_okay=False)
)
@click.option("--topic", metavar="TOPIC", help="Only this topic.")
@click.option("--partition", metavar="N", type=click.IntRange(min=0), help="Only this partition of it.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per problem.")
def verify(folders: tuple[Path, ...], topic: str | None, partition: int | None, as_json: bool) -> None:
    """Check all files: checksums, offsets, indexes, gaps, checkpoints, topic ids. With several log.dirs, name all.

    Nothing is written and nothing locked, so a server may run. The exit code is 1 if something is wrong.
    """
    if partition is not None and topic is None:
        raise click.UsageError("--partition needs --topic")
    fs = ReadOnlyFileSystem()
    totals = Totals()
    with _errors_in_one_line():
        keys = {}
        for folder in folders:
            _check_is_data_folder(folder)
            stored = stored_partitions(fs, folder)
            keys[folder] = [key for key in stored if topic in (None, key[0]) and partition in (None, key[1])]
        if not any(keys.values()) and topic is not None:
            raise click.ClickException(f"{', '.join(map(str, folders))} has no such partition")
        topics, unreadable = _topics(fs, _folder_of_metadata(folders))
        found = [] if unreadable is None else [unreadable]
        found.extend(_partitions_twice(keys))
        size = sum(log_bytes(fs, folder, of_folder) for folder, of_folder in keys.items())
        with progress_bar("reading", size) as progress:
            for folder, of_folder in keys.items():
                found.extend(Verifier(fs, folder, topics, progress, totals).run(of_folder))
    for problem in found:
        click.echo(_line(problem, folders[0] if len(folders) == 1 else None, as_json))
    wrong = sum(not problem.is_repaired for problem in found)
    if not as_json:
        click.echo(
            f"{totals.partitions} partitions, {totals.segments} segments, {totals.batches} batches, {totals.bytes}"
            f" bytes read: {_count(wrong, 'problem')}"
        )
    sys.exit(1 if wrong else 0)


@command.command
@DATA_FOLDER
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
def repair(folder: Path, dry_run: bool) -> None:
    """Take damaged batches out of the logs, so that they can be read without them.

    The bytes are first copied to DIR/damaged. The records in them are lost to clients: of __consumer_offsets these are
    commits and groups, of __cluster_metadata topics. No server may use the folder.
    """
    with _errors_in_one_line(), lines_of_this_thread_to(ErrorLines()):
        _check_is_data_folder(folder)
        done = _would_repair(folder) if dry_run else _repair(folder)
    would = "would be " if dry_run else ""
    click.echo(f"{_count(done, 'damaged place')} {would}taken out" if done else "no batch is damaged")


def _would_repair(folder: Path) -> int:
    """Say what `_repair` would do; return how much that is."""
    fs = ReadOnlyFileSystem()
    try:
        lock = DiskFileSystem().lock(folder / LOCK)
    except BlockingIOError:
        raise click.ClickException(f"data directory {folder} is in use by another process") from None
    try:
        clean = (folder / CLEAN_SHUTDOWN).exists()
        return sum(len(_repair_log(fs, folder, key, clean, dry_run=True)) for key in stored_partitions(fs, folder))
    finally:
        lock.release()


def _repair(folder: Path) -> int:
    """Take out what is damaged, and build indexes that do not fit again; return the number of damaged places."""
    properties = parse_properties(folder / META_PROPERTIES, (folder / META_PROPERTIES).read_bytes())
    directory = LogDirectory.open(folder, node_id=int(properties["node.id"]))
    done = 0
    try:
        for key in directory.stored_partitions():
            repaired = _repair_log(directory.files, folder, key, directory.had_clean_shutdown, dry_run=False)
            if repaired:
                directory.note_repaired(*key, repaired[-1].damage.next_offset)
            done += len(repaired)
    except BaseException:
        directory.close(clean=False)
        raise
    rebuild(directory)
    return done


def _repair_log(fs: FileSystem, folder: Path, key: tuple[str, int], clean: bool, *, dry_run: bool) -> list[Repaired]:
    repaired = repair_log(fs, folder, *key, clean=clean, dry_run=dry_run)
    for repair in repaired:
        damage = repair.damage
        copy = "" if repair.copied_to is None else f", copied to {repair.copied_to.relative_to(folder)}"
        click.echo(
            f"{damage.path.relative_to(folder)}: position {damage.position}, {damage.size_bytes} bytes,"
            f" {offsets_between(damage.first_offset, damage.next_offset)}{copy}"
        )
    touched = {repair.damage.path.stem for repair in repaired}
    for path in wrong_indexes(fs, folder, *key):
        if path.stem not in touched:
            click.echo(f"{path.relative_to(folder)}: does not fit its log file, built again")
        if not dry_run:
            remove_indexes(fs, path.with_suffix(".log"))
    return repaired


def _folder_of_metadata(folders: Sequence[Path]) -> Path:
    """The folder with the metadata log; the first one if none has it."""
    return next((folder for folder in folders if (folder / folder_name(METADATA_LOG, 0)).is_dir()), folders[0])


def _partitions_twice(keys: Mapping[Path, list[tuple[str, int]]]) -> Iterator[Problem]:
    homes: dict[tuple[str, int], Path] = {}
    for folder, of_folder in keys.items():
        for key in of_folder:
            if homes.setdefault(key, folder) != folder:
                yield Problem(folder / folder_name(*key), f"is also in {homes[key]}")


def _check_is_data_folder(folder: Path) -> None:
    if not (folder / META_PROPERTIES).exists():
        raise click.ClickException(f"{folder} is no data folder: it has no {META_PROPERTIES}")


def _topics(fs: ReadOnlyFileSystem, folder: Path) -> tuple[Mapping[str, TopicOfMetadata] | None, Problem | None]:
    """The topics of the metadata log. None if it is damaged; with a reason if its records cannot be understood."""
    path = folder / folder_name(METADATA_LOG, 0)
    if not path.is_dir():
        return None, Problem(path, "is missing")
    image = MetadataImage()
    try:
        for batch in _metadata_batches(fs, path):
            for record in parse_records(batch):
                image.apply(decode_record(record.value or b""))
    except CorruptBatch:
        return None, None  # the check of this log says where
    except (MalformedMessage, ValueError, KeyError) as problem:
        return None, Problem(path, f"a record cannot be understood: {problem}")
    return {
        name: TopicOfMetadata(topic.topic_id, topic.partitions, "compact" in topic.configs.get("cleanup.policy", ""))
        for name, topic in image.topics.items()
    }, None


def _metadata_batches(fs: ReadOnlyFileSystem, path: Path) -> Iterator[bytes]:
    for base_offset in base_offsets_of(fs, path):
        segment = Segment(fs, path, base_offset, LogConfig())
        try:
            end = segment.file_size()
            for item in scan(segment, 0, end, base_offset, next_base_offset=INT64_MAX, may_have_gaps=True):
                if isinstance(item, Damage):
                    raise item.error()
                yield segment.read_exactly(item.position, item.header.size_in_bytes)
        finally:
            segment.close()


def _line(problem: Problem, folder: Path | None, as_json: bool) -> str:
    file = problem.file
    if folder is not None and file.is_relative_to(folder):
        file = file.relative_to(folder)
    if as_json:
        found = {
            "file": str(file),
            "position": problem.position,
            "problem": problem.what,
            "repaired": problem.is_repaired,
        }
        return json.dumps(found)
    position = "" if problem.position is None else f" position {problem.position}:"
    repair_note = " (taken out by a repair)" if problem.is_repaired else ""
    return f"{printable(str(file))}:{position} {printable(problem.what)}{repair_note}"


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number or 'no'} {thing}s"
