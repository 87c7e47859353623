"""`coordinator backup`: copy the data folder of a server that may run."""

import sys
import time
from pathlib import Path

import click

from coordinator import __version__
from coordinator.backup.copying import back_up, size_of
from coordinator.backup.manifest import BackupError
from coordinator.cli.progress import progress_bar, sized
from coordinator.cli.terminal import INTERRUPTED
from coordinator.printable import printable

LOG_DIRECTORIES = click.option(
    "--data-dir",
    "directories",
    required=True,
    metavar="DIR[,DIR...]",
    callback=lambda context, option, value: [Path(text) for text in value.split(",")],
    help="The log directories: all of log.dirs, and metadata.log.dir if that is another one.",
)


@click.command
@click.argument("target", metavar="BACKUP", type=click.Path(path_type=Path))
@LOG_DIRECTORIES
def command(target: Path, directories: list[Path]) -> None:
    """Copy groups, committed offsets, topics, records and the audit into the new folder BACKUP.

    The server may run: it is neither stopped nor asked. All that was acknowledged before the command began is in the
    backup; of what is acknowledged meanwhile, some may be. The credentials of users are in it, so keep it as safe as
    the data folder. `coordinator restore` puts it back.
    """
    try:
        with progress_bar("copying", size_of(directories)) as progress:
            manifest = back_up(directories, target, __version__, lambda: time.time_ns() // 1_000_000, progress)
    except (BackupError, OSError) as problem:
        raise click.ClickException(printable(str(problem))) from problem
    except KeyboardInterrupt:
        click.echo(f"interrupted: {printable(str(target))} is incomplete, remove it", err=True)
        sys.exit(INTERRUPTED)
    click.echo(f"{len(manifest.files)} files, {sized(manifest.size_bytes)}: {printable(str(target))} is complete")
