"""What a request to change configs makes of those that a topic or group has (ConfigurationControlManager.java)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import NamedTuple

from _wire.errors import ErrorCode
from coordinator.broker.configs.resource_config_key import ConfigType, ResourceConfigKey, split_list
from coordinator.broker.topics import TopicError


class OperationType(IntEnum):
    """KIP-339."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Operation(NamedTuple):
    """One entry of IncrementalAlterConfigs. `type` is a number of OperationType, or any other."""

    name: str
    type: int
    value: str | None


def changed(
    configs: Mapping[str, str], operations: Iterable[Operation], keys: Mapping[str, ResourceConfigKey]
) -> dict[str, str]:
    """The configs after IncrementalAlterConfigs. They are not validated. `keys` are those that there are, by name.

    Raises:
        TopicError: a key occurs twice, a value is missing, or an operation does not exist or not for this key.
    """
    operations = list(operations)
    check_names([operation.name for operation in operations])
    missing = [
        operation.name for operation in operations if operation.value is None and operation.type != OperationType.DELETE
    ]
    check_nothing_missing(missing)
    after = dict(configs)
    for name, kind, value in operations:
        text = value or ""
        match kind:
            case OperationType.SET:
                after[name] = text
            case OperationType.DELETE:
                after.pop(name, None)
            case OperationType.APPEND | OperationType.SUBTRACT:
                after[name] = _changed_list(after, name, OperationType(kind), split_list(text), keys.get(name))
            case _:
                raise TopicError(ErrorCode.INVALID_REQUEST, f"Unknown operation {kind}")
    return after


def _changed_list(
    configs: Mapping[str, str], name: str, kind: OperationType, words: list[str], key: ResourceConfigKey | None
) -> str:
    if key is None or key.type is not ConfigType.LIST:
        message = f"Can't {kind.name} to key {name} because its type is not LIST."
        raise TopicError(ErrorCode.INVALID_CONFIG, message)
    before = split_list(configs.get(name, key.default))
    if kind is OperationType.APPEND:
        return ",".join(before + [word for word in dict.fromkeys(words) if word not in before])
    return ",".join(word for word in before if word not in words)


def replaced(entries: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """The configs after AlterConfigs (KIP-133), which removes all that it does not name. They are not validated.

    Raises:
        TopicError: a key occurs twice, or a value is missing.
    """
    entries = list(entries)
    check_names([name for name, _ in entries])
    check_nothing_missing([name for name, value in entries if value is None])
    return {name: value for name, value in entries if value is not None}


def check_names(names: list[str]) -> None:
    """Raises TopicError for a key that occurs twice."""
    if any(times > 1 for times in Counter(names).values()):
        raise TopicError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")


def check_nothing_missing(names: list[str]) -> None:
    """Raises TopicError for keys whose value is missing."""
    if names:
        raise TopicError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {','.join(names)}")
