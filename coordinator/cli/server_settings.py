"""The options that give a server its settings, and what is made of them."""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import click

from coordinator.config.given import (
    Given,
    Layer,
    given_by_options,
    given_in_environment,
    given_in_file,
    setting_of_variable,
)
from coordinator.config.kafka_names import is_of_kafka
from coordinator.config.settings import KEYS_BY_NAME
from coordinator.config.understood import Understood, shortened, understand
from coordinator.logger import logger

Command = Callable[..., Any]

CONFIG_OPTION: Final = click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    help="A file of settings in the form of Kafka's server.properties.",
)
ENVIRONMENT_OPTION: Final = click.option(
    "--environment",
    "with_environment",
    is_flag=True,
    help="Use the variables KAFKA_*, as Apache Kafka's image does: KAFKA_LOG_DIRS is log.dirs.",
)
SET_OPTION: Final = click.option(
    "--set", "settings", metavar="KEY=VALUE", multiple=True, help="A setting by its Kafka name; repeatable."
)


def settings_options(command: Command) -> Command:
    """For a command with the parameters `config_file`, `with_environment` and `settings`."""
    return CONFIG_OPTION(ENVIRONMENT_OPTION(SET_OPTION(command)))


def read_settings(
    config_file: Path | None,
    with_environment: bool,
    settings: tuple[str, ...],
    options: Mapping[str, str] | None = None,
) -> Understood:
    """The settings of a server: `options` (setting → text) over --set over the environment over the file.

    Raises:
        ConfigError: the file cannot be read, an option is not KEY=VALUE, or this server cannot be what a setting says.
    """
    return understand(
        {} if config_file is None else given_in_file(config_file),
        given_in_environment(os.environ) if with_environment else {},
        given_by_options(settings),
        {name: Given(text, Layer.OPTION, "an option") for name, text in (options or {}).items()},
    )


def log_settings(understood: Understood, with_environment: bool) -> None:
    """Tell at the start, in one line of each kind, what is not used, or not as it was given."""
    for kind, about in understood.lines():
        logger.warning(kind, settings=about)
    variables = [] if with_environment else sorted(_variables(os.environ))
    if variables:
        logger.info("variables are not used without --environment", variables=shortened(variables))


def log_new_lines(again: Understood, before: Understood) -> None:
    """Tell what `log_settings` has not told of the settings of the start."""
    for kind, about in again.lines():
        if (kind, about) not in before.lines():
            logger.warning(kind, settings=about)


def _variables(environment: Mapping[str, str]) -> Iterator[str]:
    """Those that give a setting of this server or of Kafka."""
    for variable in environment:
        name = setting_of_variable(variable)
        if name in KEYS_BY_NAME or is_of_kafka(name):
            yield variable
