"""DescribeConfigs, IncrementalAlterConfigs and AlterConfigs (KIP-133, KIP-226, KIP-339)."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from _wire.errors import ErrorCode
from _wire.messages import alter_configs, incremental_alter_configs
from _wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from coordinator.broker.configs.broker_configs import CLUSTER, check_broker_configs, incremental_change
from coordinator.broker.configs.config_changes import Operation, changed, replaced
from coordinator.broker.configs.dynamic_configs import DynamicBrokerConfigs
from coordinator.broker.configs.group_config_keys import GROUP_KEYS_BY_NAME
from coordinator.broker.configs.group_configs import group_config_change
from coordinator.broker.configs.resource_config_key import ResourceConfigKey
from coordinator.broker.configs.topic_config_keys import ALL_KEYS, KEYS_BY_NAME
from coordinator.broker.configs.topic_configs import Origin, origins, valid_configs
from coordinator.broker.topics import TopicError, Topics
from coordinator.config.kafka_broker_configs import kafka_broker_configs
from coordinator.config.server_keys import NODE_ID
from coordinator.config.settings import Config
from coordinator.config.source import ConfigSource
from coordinator.front.dispatch import DispatchTable
from coordinator.front.protocol_types import ConfigResourceType
from coordinator.front.request_context import RequestContext
from coordinator.log.errors import InvalidTopicName
from coordinator.log.names import check_topic_name
from coordinator.metadata.image import MetadataImage, Topic
from coordinator.metadata.store import MetadataStore
from coordinator.node.handlers.broker_configs import broker_configs, cluster_configs
from coordinator.node.handlers.certificate_reload import CertificateReload
from coordinator.node.handlers.deferred import answer_when_committed
from coordinator.node.handlers.group_configs import group_configs
from coordinator.runtime.slices import Steps

RESOURCES_AT_ONCE: Final = 100
"""Resources of one request whose configs are changed with one append, before other requests have their turn."""

REPEATED_RESOURCES_MAX: Final = 10
"""Resources of one request that are described once more. Kafka has no limit: a resource that is named again in a few
bytes costs tens of KB in the response."""

CLIENT_METRICS_CONFIGS: Final = frozenset({"interval.ms", "match", "metrics"})
"""Those of Kafka's ClientMetricsConfigs."""
NO_CLIENT_METRICS: Final = "Client metrics (KIP-714) are not served, so they have no configs"
UNREADABLE: Final = (
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an "
    "incompatible broker. See the broker logs for more details."
)
"""Kafka's message for resources of an unknown type in DescribeConfigs."""


class Resource(NamedTuple):
    """Whose configs they are; `type` is a number of ConfigResourceType, or any other."""

    type: int
    name: str


Change = Callable[[Mapping[str, str]], Mapping[str, str | None]]


class AlteredResource(msgspec.Struct, frozen=True):
    """What a request wants of one resource."""

    resource: Resource
    names: Sequence[str]
    change: Change
    is_replacing: bool = False
    """Whether all configs are given, in place of those that there are (AlterConfigs)."""


class ConfigHandlers:
    """Tells and changes configs, those of topics, groups and brokers."""

    def __init__(
        self,
        *,
        config: Config,
        image: MetadataImage,
        topics: Topics,
        now_ms: Callable[[], int],
        metadata: MetadataStore,
        certificates: CertificateReload,
        dynamic: DynamicBrokerConfigs,
    ) -> None:
        self._dynamic = dynamic
        self._certificates = certificates
        self._config = config
        self._image = image
        self._topics = topics
        self._now_ms = now_ms
        self._metadata = metadata
        self._node_id = config[NODE_ID]

    def add_to(self, table: DispatchTable) -> None:
        table.add("DescribeConfigs", self.describe, _describe_error)
        table.add("AlterConfigs", self.replace, _replace_error)
        table.add("IncrementalAlterConfigs", self.alter, _alter_error)

    # --------------------------------------------------------------------------------------------------------- describe

    def describe(self, request: DescribeConfigsRequest, call: RequestContext) -> Steps[DescribeConfigsResponse]:
        """Resources are described as often as they are named, but for a request whose response would be very large."""
        response = DescribeConfigsResponse()
        seen = set()
        repeated = 0
        for altered in request.resources:
            resource = Resource(altered.resource_type, altered.resource_name)
            try:
                repeated += resource in seen
                if repeated > REPEATED_RESOURCES_MAX:
                    raise TopicError(ErrorCode.INVALID_REQUEST, "Too many resources are named more than once.")
                seen.add(resource)
                configs = self._describe_one(altered, request.include_synonyms, request.include_documentation)
                response.results.append(_described(resource, ErrorCode.NONE, "", configs))
            except TopicError as problem:
                response.results.append(_described(resource, problem.error, str(problem), []))
            yield
        return response

    def _describe_one(
        self, altered: DescribeConfigsResource, with_synonyms: bool, with_documentation: bool
    ) -> list[DescribeConfigsResourceResult]:
        name = altered.resource_name
        configs: Iterable[DescribeConfigsResourceResult]
        match altered.resource_type:
            case ConfigResourceType.TOPIC:
                configs = self._topic_configs(self._topic(name))
            case ConfigResourceType.BROKER:
                stored = self._image.broker_configs
                if self._check_broker(name, "Broker"):
                    configs = broker_configs(self._config, stored)
                else:
                    configs = cluster_configs(stored.get(CLUSTER, {}))
            case ConfigResourceType.BROKER_LOGGER:
                self._check_broker(name, "Broker")
                configs = ()
            case ConfigResourceType.GROUP:
                if not name:
                    raise TopicError(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
                configs = group_configs(self._image.group_configs.get(name, {}), self._config)
            case ConfigResourceType.CLIENT_METRICS:
                if not name:
                    raise TopicError(ErrorCode.INVALID_REQUEST, "Client metrics subscription name must not be empty")
                configs = ()
            case _:
                raise TopicError(ErrorCode.INVALID_REQUEST, UNREADABLE)
        keys = set(altered.configuration_keys or ())
        chosen = [config for config in configs if not keys or config.name in keys]
        for resource in chosen:
            if not with_synonyms:
                resource.synonyms = []
            if not with_documentation:
                resource.documentation = None
        return chosen

    def _topic(self, name: str) -> Topic:
        try:
            check_topic_name(name)
        except InvalidTopicName as problem:
            raise TopicError(ErrorCode.INVALID_TOPIC_EXCEPTION, str(problem)) from None
        topic = self._image.topics.get(name)
        if topic is None:
            raise TopicError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "")
        return topic

    def _check_broker(self, name: str, kind: str, or_empty: str = " or empty string") -> bool:
        """Whether the name is that of this broker; False if it is empty. Raises TopicError for any other."""
        if not name:
            return False
        if not name.isascii() or not name.removeprefix("-").isdecimal():
            raise TopicError(ErrorCode.INVALID_REQUEST, f"{kind} id must be an integer, but it is: {name}")
        if name != str(self._node_id):
            message = f"Unexpected broker id, expected {self._node_id}{or_empty}, but received {name}"
            raise TopicError(ErrorCode.INVALID_REQUEST, message)
        return True

    def _topic_configs(self, topic: Topic) -> Iterable[DescribeConfigsResourceResult]:
        own = valid_configs(topic.configs, topic.name)
        for key in ALL_KEYS:
            places = origins(key, topic.name, own, self._config)
            yield DescribeConfigsResourceResult(
                name=key.name,
                value=places[0].text,
                read_only=False,
                is_default=places[0].source is ConfigSource.DEFAULT,
                config_source=places[0].source,
                is_sensitive=False,
                synonyms=_synonyms(key, places),
                config_type=key.type,
                documentation=key.doc,
            )

    # ----------------------------------------------------------------------------------------------------------- change

    def alter(
        self, request: incremental_alter_configs.IncrementalAlterConfigsRequest, call: RequestContext
    ) -> Steps[Any]:
        altered = []
        reloaded: dict[Resource, str] = {}
        for requested in request.resources:
            if requested.resource_type == ConfigResourceType.BROKER and requested.resource_name == str(self._node_id):
                problem = None if request.validate_only else (yield from self._certificates.load(requested.configs))
                if problem is not None:
                    reloaded[Resource(requested.resource_type, requested.resource_name)] = problem
            operations = [Operation(entry.name, entry.config_operation, entry.value) for entry in requested.configs]
            resource = Resource(requested.resource_type, requested.resource_name)
            names = [entry.name for entry in requested.configs]
            if resource in reloaded:
                # The stores were loaded again, or they could not be. Nothing is stored.
                operations = []
            altered.append(AlteredResource(resource, names, _incremental(resource, operations)))
            yield
        results = yield from self._change(altered, request.validate_only)
        for result in results:
            problem = reloaded.get(Resource(result["resource_type"], result["resource_name"]))
            if problem and not result["error_code"]:
                result |= {"error_code": ErrorCode.INVALID_REQUEST, "error_message": problem}
        responses = [incremental_alter_configs.AlterConfigsResourceResponse(**result) for result in results]
        response = incremental_alter_configs.IncrementalAlterConfigsResponse(responses=responses)
        return (yield from answer_when_committed(self._metadata, response))

    def replace(self, request: alter_configs.AlterConfigsRequest, call: RequestContext) -> Steps[Any]:
        altered = []
        for requested in request.resources:
            entries = [(entry.name, entry.value) for entry in requested.configs]
            resource = Resource(requested.resource_type, requested.resource_name)
            altered.append(
                AlteredResource(resource, [name for name, _ in entries], _replacing(entries), is_replacing=True)
            )
            yield
        results = yield from self._change(altered, request.validate_only)
        responses = [alter_configs.AlterConfigsResourceResponse(**result) for result in results]
        return (
            yield from answer_when_committed(self._metadata, alter_configs.AlterConfigsResponse(responses=responses))
        )

    def _change(self, altered: Sequence[AlteredResource], validate_only: bool) -> Steps[list[dict[str, Any]]]:
        """Change the configs of each resource, or none of its; return the fields of the responses."""
        times = Counter(alteration.resource for alteration in altered)
        results = []
        for first in range(0, len(altered), RESOURCES_AT_ONCE):
            topics: dict[str, dict[str, str]] = {}
            groups: dict[str, dict[str, str]] = {}
            brokers: dict[str, dict[str, str]] = {}
            for alteration in altered[first : first + RESOURCES_AT_ONCE]:
                error, message = ErrorCode.NONE, None
                try:
                    if times[alteration.resource] > 1:
                        raise TopicError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
                    if alteration.resource.type == ConfigResourceType.TOPIC:
                        topics[alteration.resource.name] = self._topic_change(alteration)
                    elif alteration.resource.type == ConfigResourceType.GROUP:
                        groups[alteration.resource.name] = self._group_change(alteration, groups)
                    elif alteration.resource.type == ConfigResourceType.BROKER:
                        brokers[alteration.resource.name] = self._broker_change(alteration, brokers)
                    else:
                        self._refuse(alteration)
                except TopicError as problem:
                    error, message = problem.error, str(problem) or None
                results.append(_altered(alteration.resource, error, message))
            if not validate_only:
                self._topics.change_configs(topics, self._now_ms())
                self._metadata.change_group_configs(groups, self._now_ms())
                self._dynamic.change(brokers, self._now_ms())
            yield
        return results

    def _topic_change(self, altered: AlteredResource) -> dict[str, str]:
        if not altered.resource.name:
            raise TopicError(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
        return self._topics.config_change(altered.resource.name, altered.change)

    def _group_change(self, altered: AlteredResource, pending: Mapping[str, dict[str, str]]) -> dict[str, str]:
        """`pending` are the changes of other groups in the same append."""
        configs = self._metadata.latest_image.group_configs
        return group_config_change(configs, altered.resource.name, altered.change, self._config, pending)

    def _broker_change(self, altered: AlteredResource, pending: Mapping[str, dict[str, str]]) -> dict[str, str]:
        """`pending` are the changes of other names in the same append."""
        name = altered.resource.name
        self._check_broker(name, "Node", or_empty="")
        configs = {**self._metadata.latest_image.broker_configs, **pending}
        after = {key: text or "" for key, text in altered.change(configs.get(name, {})).items()}
        check_broker_configs(name, after, configs, self._config, self._dynamic.node)
        return after

    def _refuse(self, altered: AlteredResource) -> None:
        """Raises TopicError unless nothing is to be changed: the configs of other resources cannot change."""
        kind, name = altered.resource
        match kind:
            case ConfigResourceType.BROKER_LOGGER if not altered.is_replacing:
                if not name:
                    raise TopicError(ErrorCode.INVALID_REQUEST, "Node id must be an integer, but it is: ")
                self._check_broker(name, "Node", or_empty="")
                message = f"Logger {next(iter(altered.names), '')} does not exist!"
                error = ErrorCode.INVALID_CONFIG
            case ConfigResourceType.CLIENT_METRICS:
                if not name:
                    raise TopicError(ErrorCode.INVALID_REQUEST, "Subscription name can't be empty")
                unknown = [name for name in altered.names if name not in CLIENT_METRICS_CONFIGS]
                message = f"Unknown client metrics configuration: {unknown[0]}" if unknown else NO_CLIENT_METRICS
                error = ErrorCode.INVALID_CONFIG
            case _:
                raise TopicError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {kind}")
        if altered.names:
            raise TopicError(error, message)


def _synonyms(key: ResourceConfigKey, places: list[Origin]) -> list[DescribeConfigsSynonym]:
    """The places of a value as Kafka tells them: a default only where it is that of a config of the broker."""
    synonyms = []
    for place in places:
        name: str | None = place.name
        if place.source is ConfigSource.DEFAULT:
            name = _broker_default(key)
        if name is not None:
            synonyms.append(DescribeConfigsSynonym(name=name, value=place.shown, source=place.source))
    return synonyms


def _broker_default(key: ResourceConfigKey) -> str | None:
    """The name of the config of the broker that has the default for topics, if Kafka has one."""
    existing = kafka_broker_configs()
    names = [key.broker[0].key.name] if key.broker else [f"log.{key.name}", key.name]
    return next((name for name in names if name in existing and existing[name].default is not None), None)


def _incremental(resource: Resource, operations: list[Operation]) -> Change:
    if resource.type == ConfigResourceType.BROKER:
        return lambda configs: incremental_change(operations, configs)
    keys = GROUP_KEYS_BY_NAME if resource.type == ConfigResourceType.GROUP else KEYS_BY_NAME
    return lambda configs: changed(configs, operations, keys)


def _replacing(entries: list[tuple[str, str | None]]) -> Change:
    return lambda configs: replaced(entries)


def _described(
    resource: Resource, error: ErrorCode, message: str, configs: list[DescribeConfigsResourceResult]
) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        error_code=error,
        error_message=message,
        resource_type=resource.type,
        resource_name=resource.name,
        configs=configs,
    )


def _altered(resource: Resource, error: ErrorCode, message: str | None) -> dict[str, Any]:
    return {
        "error_code": error,
        "error_message": message,
        "resource_type": resource.type,
        "resource_name": resource.name,
    }


def _describe_error(request: DescribeConfigsRequest, error: ErrorCode, api_version: int) -> DescribeConfigsResponse:
    results = [
        _described(Resource(resource.resource_type, resource.resource_name), error, error.description, [])
        for resource in request.resources
    ]
    return DescribeConfigsResponse(results=results)


def _replace_error(
    request: alter_configs.AlterConfigsRequest, error: ErrorCode, api_version: int
) -> alter_configs.AlterConfigsResponse:
    responses = []
    for resource in request.resources:
        result = _altered(Resource(resource.resource_type, resource.resource_name), error, error.description)
        responses.append(alter_configs.AlterConfigsResourceResponse(**result))
    return alter_configs.AlterConfigsResponse(responses=responses)


def _alter_error(
    request: incremental_alter_configs.IncrementalAlterConfigsRequest, error: ErrorCode, api_version: int
) -> incremental_alter_configs.IncrementalAlterConfigsResponse:
    responses = []
    for resource in request.resources:
        result = _altered(Resource(resource.resource_type, resource.resource_name), error, error.description)
        responses.append(incremental_alter_configs.AlterConfigsResourceResponse(**result))
    return incremental_alter_configs.IncrementalAlterConfigsResponse(responses=responses)
