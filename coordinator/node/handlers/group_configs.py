"""The configs of a group in DescribeConfigs."""

from collections.abc import Iterable, Mapping

from _wire.messages.describe_configs import DescribeConfigsResourceResult, DescribeConfigsSynonym
from coordinator.broker.configs.group_config_keys import ALL_GROUP_KEYS
from coordinator.broker.configs.group_configs import group_origins
from coordinator.config.settings import Config
from coordinator.config.source import ConfigSource


def group_configs(configs: Mapping[str, str], config: Config) -> Iterable[DescribeConfigsResourceResult]:
    """All configs. `configs` are those that the group has set; it need not exist."""
    for key in ALL_GROUP_KEYS:
        places = group_origins(key, configs, config)
        yield DescribeConfigsResourceResult(
            name=key.name,
            value=places[0].text,
            read_only=False,
            is_default=places[0].source is ConfigSource.DEFAULT,
            config_source=places[0].source,
            is_sensitive=False,
            synonyms=[
                DescribeConfigsSynonym(name=place.name, value=place.text, source=place.source) for place in places
            ],
            config_type=key.type,
            documentation=key.doc,
        )
