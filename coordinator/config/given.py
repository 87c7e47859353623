"""Where settings are given, and as what: a file, the environment, options. Later ones override earlier ones."""

import shlex
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import Final

import msgspec

from coordinator.config.key import ConfigError
from coordinator.config.properties import parse_settings, read_properties_with_lines
from coordinator.config.sasl_keys import JAVA_SECURITY_AUTH_LOGIN_CONFIG

PREFIX: Final = "KAFKA_"
BITNAMI_PREFIX: Final = "CFG_"
"""After the other one, in Bitnami's image. No setting of Kafka begins with `cfg.`."""
JAVA_OPTIONS: Final = "KAFKA_OPTS"
NO_SETTINGS: Final = frozenset(
    {
        "KAFKA_GC_LOG_OPTS",
        "KAFKA_HEAP_OPTS",
        "KAFKA_JMX_HOSTNAME",
        "KAFKA_JMX_OPTS",
        "KAFKA_JVM_PERFORMANCE_OPTS",
        "KAFKA_LOG4J_LOGGERS",
        "KAFKA_LOG4J_OPTS",
        "KAFKA_LOG4J_ROOT_LOGLEVEL",
        "KAFKA_OPTS",
        "KAFKA_TOOLS_LOG4J_LOGLEVEL",
        "KAFKA_VERSION",
        # The image takes the following ones for settings that no Kafka has; its scripts read them.
        "KAFKA_DEBUG",
        "KAFKA_HOME",
        "KAFKA_JMX_PORT",
        "KAFKA_LOG4J_CMD_OPTS",
    }
)
"""Variables of Kafka's scripts and of its image (KafkaDockerWrapper.scala)."""


class Layer(Enum):
    """What gives a setting, the weakest first."""

    FILE = "file"
    ENVIRONMENT = "environment"
    OPTION = "option"


class Given(msgspec.Struct, frozen=True):
    """A setting as it was given."""

    text: str
    layer: Layer
    place: str
    """For messages: `server.properties:12`, the variable, or the option."""


def given_in_file(path: Path) -> dict[str, Given]:
    """The settings of a file. Raises ConfigError as `read_properties`."""
    found = read_properties_with_lines(path)
    return {name: Given(text, Layer.FILE, f"{path}:{line}") for name, (text, line) in found.items()}


def given_in_environment(environment: Mapping[str, str]) -> dict[str, Given]:
    """The settings among the variables, as Apache Kafka's image reads them.

    `KAFKA_LOG_DIRS` is `log.dirs`, and so is `KAFKA_CFG_LOG_DIRS`, as Bitnami's image has it; `__` stands for an
    underscore, and `___` for a dash. A system property of Java that is a setting here is found in `KAFKA_OPTS`.
    """
    found = _given_as_system_properties(environment.get(JAVA_OPTIONS, ""))
    for variable in sorted(environment):
        name = setting_of_variable(variable)
        if name:
            found[name] = Given(environment[variable], Layer.ENVIRONMENT, variable)
    return found


def _given_as_system_properties(options: str) -> dict[str, Given]:
    """Raises ConfigError: a quote is not closed."""
    try:
        words = shlex.split(options)
    except ValueError as problem:
        raise ConfigError(f"{JAVA_OPTIONS}: {problem}") from None
    name = JAVA_SECURITY_AUTH_LOGIN_CONFIG.name
    paths = [word.removeprefix(f"-D{name}=") for word in words if word.startswith(f"-D{name}=")]
    return {name: Given(paths[-1], Layer.ENVIRONMENT, JAVA_OPTIONS)} if paths else {}


def setting_of_variable(variable: str) -> str:
    """The setting that a variable gives; empty if it gives none."""
    if not variable.startswith(PREFIX) or variable in NO_SETTINGS:
        return ""
    name = variable.removeprefix(PREFIX).removeprefix(BITNAMI_PREFIX).lower()
    return name.replace("_", ".").replace("...", "-").replace("..", "_")


def given_by_options(settings: Iterable[str], option: str = "--set") -> dict[str, Given]:
    """The settings KEY=VALUE of a repeatable option.

    Raises:
        ConfigError: one is not of that form.
    """
    return {name: Given(text, Layer.OPTION, option) for name, text in parse_settings(settings).items()}
