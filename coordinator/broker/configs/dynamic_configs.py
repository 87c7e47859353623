"""The configs that are set for this broker, or for all, while it runs: from the metadata to its settings (KIP-226)."""

from collections.abc import Iterable, Mapping
from typing import Final

from coordinator.broker.configs.broker_config_keys import broker_config_keys
from coordinator.broker.configs.broker_configs import CLUSTER, source_of, values_of
from coordinator.config.key import ConfigError
from coordinator.config.server_keys import NODE_ID
from coordinator.config.settings import Config
from coordinator.logger import logger
from coordinator.metadata.store import MetadataStore

ALL: Final = "all"
"""In place of the node id, in the log."""


class DynamicBrokerConfigs:
    """Lets the settings have the values that the metadata says, at the start and after each change."""

    def __init__(self, config: Config, metadata: MetadataStore) -> None:
        """Apply what is stored. What is not allowed any more has no effect, and a line in the log."""
        self._config = config
        self._metadata = metadata
        self.node: Final = str(config[NODE_ID])
        """The name of this broker among those of the metadata."""
        self._applied: dict[str, Mapping[str, str]] = {CLUSTER: {}, self.node: {}}
        self._apply()

    def change(self, changes: Mapping[str, dict[str, str]], now_ms: int) -> None:
        """Give brokers the configs that `check_broker_configs` allows: node id, or CLUSTER → all that it has then."""
        stored = self._metadata.latest_image.broker_configs
        changes = {name: after for name, after in changes.items() if after != stored.get(name, {})}
        self._metadata.change_broker_configs(changes, now_ms, self._apply)

    def _apply(self) -> None:
        for name, before in list(self._applied.items()):
            stored = self._metadata.image.broker_configs.get(name, {})
            if stored != before:
                self._applied[name] = stored
                self._apply_one(name, before, stored)

    def _apply_one(self, name: str, before: Mapping[str, str], stored: Mapping[str, str]) -> None:
        valid = {key: text for key, text in stored.items() if self._is_valid(name, key, text)}
        try:
            changed = self._config.set_dynamic(source_of(name), values_of(valid))
        except ConfigError as problem:
            logger.error(
                "the configs that were set for a broker are not used", broker=name or ALL, problem=str(problem)
            )
            return
        for key in changed:
            logger.info("setting changed", setting=key.name, value=self._config.text(key), broker=name or ALL)
        _log_unused(key for key in valid if valid[key] != before.get(key))

    @staticmethod
    def _is_valid(name: str, key: str, text: str) -> bool:
        try:
            values_of({key: text})
        except ConfigError as problem:
            logger.error("a config that was set for a broker is not used", broker=name or ALL, problem=str(problem))
            return False
        return True


def _log_unused(names: Iterable[str]) -> None:
    keys = broker_config_keys()
    unused = [name for name in names if name not in keys or keys[name].setting is None or keys[name].is_per_broker]
    if unused:
        logger.warning("configs are stored that nothing here reads", configs=", ".join(sorted(unused)))
