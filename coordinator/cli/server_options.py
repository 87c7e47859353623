"""The options that name a server and say how to connect to it: `--bootstrap` and `--command-config`."""

from collections.abc import Callable
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
BOOTSTRAP_HELP: Final = "The address of a server of the cluster, or of several with commas."
COMMAND_CONFIG_OPTION: Final = click.option(
    "--command-config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="How to connect and log in: a file with the security settings of Kafka's clients, as its tools read it.",
)


def server_option(command: Command) -> Command:
    """For a command with the parameter `bootstrap`, a Bootstrap. By default it is the server of this machine."""
    option = click.option(
        "--bootstrap", default=DEFAULT_BOOTSTRAP, show_default=True, metavar="HOST:PORT", help=BOOTSTRAP_HELP
    )
    return option(COMMAND_CONFIG_OPTION(with_security(command)))


def with_security(command: Command) -> Command:
    """Replace the parameters `bootstrap` and `command_config` by one `bootstrap`, None if it is not given."""

    @wraps(command)
    def connected(*args: Any, bootstrap: str | None, command_config: Path | None, **others: Any) -> Any:
        return command(*args, bootstrap=_bootstrap(bootstrap, command_config), **others)

    return connected


def _bootstrap(address: str | None, command_config: Path | None) -> Bootstrap | None:
    if address is None:
        if command_config is not None:
            raise click.ClickException("--command-config needs a server: --bootstrap HOST:PORT")
        return None
    if command_config is None:
        return Bootstrap(address)
    try:
        return Bootstrap(address, ClientSecurity(read_properties(command_config)))
    except ConfigError as problem:
        raise click.ClickException(f"{command_config}: {problem}") from problem
