"""The options that name a server and say how to connect to it: `--bootstrap` and `--command-config`.

Both can come from the environment, and the file of the second one may name the server, too: so it is a profile.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, Final

import click

from coordinator.client.bootstrap import Bootstrap
from coordinator.client.security import ClientSecurity
from coordinator.config.key import ConfigError
from coordinator.config.properties import read_properties

Command = Callable[..., Any]

DEFAULT_BOOTSTRAP: Final = "127.0.0.1:9092"
BOOTSTRAP_SERVERS: Final = "bootstrap.servers"
BOOTSTRAP_VARIABLE: Final = "COORDINATOR_BOOTSTRAP"
COMMAND_CONFIG_VARIABLE: Final = "COORDINATOR_COMMAND_CONFIG"
BOOTSTRAP_HELP: Final = "The address of a server of the cluster, or of several with commas."
COMMAND_CONFIG_OPTION: Final = click.option(
    "--command-config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    envvar=COMMAND_CONFIG_VARIABLE,
    show_envvar=True,
    help="How to connect and log in: a file with the settings of Kafka's clients, as its tools read it.",
)


BOOTSTRAP_OPTION: Final = click.option(
    "--bootstrap",
    metavar="HOST:PORT",
    envvar=BOOTSTRAP_VARIABLE,
    show_envvar=True,
    help=f"{BOOTSTRAP_HELP} By default {DEFAULT_BOOTSTRAP}.",
)


def server_option(command: Command) -> Command:
    """For a command with the parameter `bootstrap`, a Bootstrap.

    It is, in this order, that of the option, of the environment, of the file of `--command-config`, or the server of
    this machine.
    """

    @wraps(command)
    def connected(*args: Any, bootstrap: str | None, command_config: Path | None, **others: Any) -> Any:
        return command(*args, bootstrap=server_of(bootstrap, command_config), **others)

    return BOOTSTRAP_OPTION(COMMAND_CONFIG_OPTION(connected))


def with_security(command: Command) -> Command:
    """Replace the parameters `bootstrap` and `command_config` by one `bootstrap`, None if it is not given."""

    @wraps(command)
    def connected(*args: Any, bootstrap: str | None, command_config: Path | None, **others: Any) -> Any:
        return command(*args, bootstrap=_bootstrap(bootstrap, command_config), **others)

    return connected


def server_of(address: str | None, command_config: Path | None) -> Bootstrap:
    """The server that the options name, else that of this machine. Raises ClickException."""
    if address is None and command_config is not None:
        address = _settings(command_config).get(BOOTSTRAP_SERVERS)
    found = _bootstrap(address or DEFAULT_BOOTSTRAP, command_config)
    assert found is not None
    return found


def _bootstrap(address: str | None, command_config: Path | None) -> Bootstrap | None:
    if address is None:
        if command_config is not None:
            raise click.ClickException("--command-config needs a server: --bootstrap HOST:PORT")
        return None
    if command_config is None:
        return Bootstrap(address)
    try:
        return Bootstrap(address, ClientSecurity(_settings(command_config)))
    except ConfigError as problem:
        raise click.ClickException(f"{command_config}: {problem}") from problem


def _settings(command_config: Path) -> Mapping[str, str]:
    try:
        return read_properties(command_config)
    except ConfigError as problem:
        raise click.ClickException(f"{command_config}: {problem}") from problem
