"""`coordinator users`: the users that log in by SCRAM, of a server or in the data folder of one that is stopped."""

import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click

from coordinator.cli.server_options import server_option
from coordinator.cli.terminal import output_option, print_records
from coordinator.client.bootstrap import Bootstrap
from coordinator.client.scram_users import delete_credentials, list_users, set_password
from coordinator.client.wire import ClientError, WireConnection
from coordinator.config.server_keys import NODE_ID
from coordinator.log.config import METADATA_LOG_CONFIG
from coordinator.log.data_dirs.directory import LogDirectory
from coordinator.log.data_dirs.meta_properties import META_PROPERTIES, parse_properties
from coordinator.log.errors import LogError
from coordinator.metadata.records import RemoveScramCredentialRecord, credential_record
from coordinator.metadata.store import MetadataError, MetadataStore
from coordinator.printable import printable
from coordinator.security.sasl.scram_credentials import ITERATIONS_MAX, ITERATIONS_MIN, ScramMechanism
from coordinator.security.sasl.scram_keys import credential_of_password

CLIENT_ID: Final = "coordinator-users"
NAMES: Final = {mechanism.mechanism_name: mechanism for mechanism in ScramMechanism}
PASSWORD_CHARACTERS_MAX: Final = 10_000

DATA_DIR_OPTION: Final = click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="In place of a server: the data folder (the first of log.dirs) of one that is stopped or never ran.",
)
NODE_ID_OPTION: Final = click.option(
    "--node-id",
    type=click.IntRange(min=0),
    default=NODE_ID.default,
    show_default=True,
    help="The node.id of the server, where the data folder is new.",
)
MECHANISM_OPTION: Final = click.option(
    "--mechanism",
    "mechanism_names",
    type=click.Choice(list(NAMES), case_sensitive=False),
    multiple=True,
    help="The mechanism; may be given twice. By default both.",
)


@click.group
def command() -> None:
    """Add, list and delete the users that log in by SCRAM."""


@command.command("list")
@server_option
@DATA_DIR_OPTION
@output_option
def list_command(bootstrap: Bootstrap, data_dir: Path | None, output: str) -> None:
    """Print the users with their mechanisms and iterations."""
    with _one_line_errors():
        if data_dir is None:
            with WireConnection(bootstrap, CLIENT_ID) as connection:
                users = list_users(connection)
        else:
            if not data_dir.exists():
                raise click.ClickException(f"there is no folder {data_dir}")
            with _store(data_dir, NODE_ID.default) as store:
                users = {
                    name: {mechanism: credential.iterations for mechanism, credential in credentials.items()}
                    for name, credentials in sorted(store.image.scram_credentials.items())
                }
    records = [
        {"user": name, "mechanism": mechanism.mechanism_name, "iterations": count}
        for name, iterations in users.items()
        for mechanism, count in sorted(iterations.items())
    ]
    print_records(records, ("user", "mechanism", "iterations"), output, "there are no users")


@command.command("add")
@click.argument("user", metavar="USER")
@click.option(
    "--password-file",
    type=click.File("r", encoding="utf-8"),
    help="A file whose first line is the password; - reads it from stdin. Without it, it is asked for.",
)
@click.option(
    "--iterations",
    type=click.IntRange(ITERATIONS_MIN, ITERATIONS_MAX),
    default=ITERATIONS_MIN,
    show_default=True,
    help="How often the password is hashed.",
)
@MECHANISM_OPTION
@server_option
@DATA_DIR_OPTION
@NODE_ID_OPTION
def add_command(
    user: str,
    password_file: Any,
    iterations: int,
    mechanism_names: tuple[str, ...],
    bootstrap: Bootstrap,
    data_dir: Path | None,
    node_id: int,
) -> None:
    """Add USER, or give it another password.

    The password is asked for, or read from a file: in the arguments of a command, others on the machine can see it.
    """
    if not user:
        raise click.ClickException("the name of a user is not empty")
    mechanisms = [NAMES[name] for name in mechanism_names or NAMES]
    password = _password(user, password_file)
    with _one_line_errors():
        if data_dir is None:
            with WireConnection(bootstrap, CLIENT_ID) as connection:
                set_password(connection, user, password, mechanisms, iterations)
        else:
            records = [
                credential_record(user, mechanism, credential_of_password(mechanism, password, iterations))
                for mechanism in mechanisms
            ]
            with _store(data_dir, node_id) as store:
                store.change_scram_credentials(records, time.time_ns() // 1_000_000)
    click.echo(f"{printable(user)} can log in by {_names(mechanisms)}")


@command.command("delete")
@click.argument("user", metavar="USER")
@MECHANISM_OPTION
@server_option
@DATA_DIR_OPTION
def delete_command(user: str, mechanism_names: tuple[str, ...], bootstrap: Bootstrap, data_dir: Path | None) -> None:
    """Delete the credentials of USER. Connections that have logged in stay."""
    asked = [NAMES[name] for name in mechanism_names or NAMES]
    with _one_line_errors():
        if data_dir is None:
            with WireConnection(bootstrap, CLIENT_ID) as connection:
                found = _existing(user, asked, list_users(connection).get(user, {}))
                delete_credentials(connection, user, found)
        else:
            if not data_dir.exists():
                raise click.ClickException(f"there is no folder {data_dir}")
            with _store(data_dir, NODE_ID.default) as store:
                found = _existing(user, asked, store.image.scram_credentials.get(user, {}))
                records = [RemoveScramCredentialRecord(user, mechanism) for mechanism in found]
                store.change_scram_credentials(records, time.time_ns() // 1_000_000)
    click.echo(f"{printable(user)} can no longer log in by {_names(found)}")


def _existing(user: str, asked: Sequence[ScramMechanism], existing: Any) -> list[ScramMechanism]:
    found = [mechanism for mechanism in asked if mechanism in existing]
    if not found:
        raise click.ClickException(f"{printable(user)} has no credential for {_names(asked)}")
    return found


def _password(user: str, file: Any) -> str:
    if file is None:
        prompted: str = click.prompt(
            f"Password of {printable(user)}", hide_input=True, confirmation_prompt=True, err=True
        )
        return prompted
    try:
        password = file.readline(PASSWORD_CHARACTERS_MAX).rstrip("\r\n")
    except UnicodeDecodeError:
        raise click.ClickException("the password file is not UTF-8") from None
    if not password:
        raise click.ClickException("the first line of the password file is empty")
    return str(password)


@contextmanager
def _store(folder: Path, node_id: int) -> Iterator[MetadataStore]:
    """The metadata in a data folder, which is made if it is new."""
    existing = folder / META_PROPERTIES
    if existing.exists():
        node_id = int(parse_properties(existing, existing.read_bytes())["node.id"])
    else:
        folder.mkdir(parents=True, exist_ok=True)
    directory = LogDirectory.open(folder, node_id=node_id)
    try:
        yield MetadataStore(directory.open_metadata_log(METADATA_LOG_CONFIG), lambda: uuid.uuid4().bytes)
    finally:
        directory.close(clean=directory.had_clean_shutdown)


@contextmanager
def _one_line_errors() -> Iterator[None]:
    try:
        yield
    except (ClientError, LogError, MetadataError, OSError) as problem:
        raise click.ClickException(printable(str(problem))) from problem
    except KeyboardInterrupt:
        sys.exit(130)


def _names(mechanisms: Sequence[ScramMechanism]) -> str:
    return " and ".join(mechanism.mechanism_name for mechanism in mechanisms)
