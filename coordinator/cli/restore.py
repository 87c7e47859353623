"""`coordinator restore`: put a backup into empty log directories."""

import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from coordinator.backup.manifest import BackupError, read_manifest
from coordinator.backup.restoring import restore, verify
from coordinator.cli.progress import progress_bar, sized
from coordinator.cli.terminal import INTERRUPTED
from coordinator.printable import printable


@click.command
@click.argument("backup", metavar="BACKUP", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--data-dir",
    "directories",
    metavar="DIR[,DIR...]",
    help="Empty log directories: as many as the backup was made of, in the same order.",
)
@click.option("--verify", "only_verify", is_flag=True, help="Only compare all files with what was copied.")
def command(backup: Path, directories: str | None, only_verify: bool) -> None:
    """Put a backup that `coordinator backup` made into empty log directories.

    All files are checked. A server does not start on the directories until all is there. Groups go on with the
    generation, members and committed offsets of the backup.
    """
    if only_verify == (directories is not None):
        raise click.UsageError("give either --data-dir or --verify")
    try:
        with progress_bar(
            "reading" if directories is None else "copying", read_manifest(backup).size_bytes
        ) as progress:
            if directories is None:
                manifest = verify(backup, progress)
            else:
                manifest = restore(backup, [Path(directory) for directory in directories.split(",")], progress)
    except (BackupError, OSError) as problem:
        raise click.ClickException(printable(str(problem))) from problem
    except KeyboardInterrupt:
        click.echo("interrupted: run it again with the same directories", err=True)
        sys.exit(INTERRUPTED)
    made = datetime.fromtimestamp(manifest.ended_ms / 1000, UTC).isoformat(sep=" ", timespec="seconds")
    found = f"{len(manifest.files)} files, {sized(manifest.size_bytes)}, of {made}"
    if directories is None:
        click.echo(f"the backup is whole: {found}")
    else:
        node = "" if manifest.node_id == 1 else f" --set node.id={manifest.node_id}"
        click.echo(f"restored {found}; serve it with --data-dir {printable(directories)}{node}")
