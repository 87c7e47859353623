"""`coordinator config`: the settings of a server, before it is started with them."""

import sys
from pathlib import Path
from typing import Final

import click

from coordinator.config.cluster_keys import CLUSTER_BOOTSTRAP_SERVERS
from coordinator.config.key import ConfigError
from coordinator.config.properties import parse_settings, read_properties
from coordinator.config.settings import Config

INVALID: Final = 2
"""The exit code of settings that a server does not start with."""
WARNED: Final = 1
"""With --strict: that of settings that others may use."""


@click.group
def command() -> None:
    """Check the settings of a server."""


@command.command
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    help="A file of settings in the form of Kafka's server.properties.",
)
@click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="A setting by its Kafka name; repeatable.")
@click.option("--strict", is_flag=True, help="End with exit code 1 if there is a warning.")
def check(config_file: Path | None, settings: tuple[str, ...], strict: bool) -> None:
    """Check settings as a start does, keys and certificates included, and warn of what they leave open to others.

    Nothing is bound, written or started. Exit code 2 if a server would not start with them.
    """
    from coordinator.server.listener_check import make_listeners
    from coordinator.server.metered import check_admin
    from coordinator.server.security_warnings import security_warnings

    try:
        texts = read_properties(config_file) if config_file is not None else {}
        config = Config(texts | parse_settings(settings))
        listeners = make_listeners(config)
        check_admin(config)
        if config[CLUSTER_BOOTSTRAP_SERVERS]:
            _check_node(config)
        warnings = list(security_warnings(config, listeners))
    except ConfigError as problem:
        click.echo(f"error: {problem}", err=True)
        sys.exit(INVALID)
    for warning in warnings:
        click.echo(f"warning: {warning}")
    names = ", ".join(f"{each.name} ({each.security_protocol.value})" for each in listeners)
    click.echo(f"a server starts with these settings; its listeners are {names}")
    if warnings and strict:
        sys.exit(WARNED)


def _check_node(config: Config) -> None:
    """What a node in front of a cluster makes of them. Raises ConfigError."""
    from coordinator.cluster.node import node_listener
    from coordinator.cluster.security import node_security

    node_security(config, node_listener(config).security_protocol)
