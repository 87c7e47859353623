"""Leaves what a client may not see out of responses, and reports what it may do."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from coordinator.core.groups.admin import NO_AUTHORIZED_OPERATIONS
from coordinator.core.offsets.fetch import GROUPS_VERSION
from coordinator.core.topology_topics import topics_of_topology
from coordinator.front.denied_elements import TAF, Access
from coordinator.runtime.slices import Steps
from coordinator.security.acls.model import AclOperation, ResourceType

DECISIONS_AT_ONCE: Final = 4
"""Decisions of the authorizer in one step. One that is not kept takes 5 µs, but 2 ms with ACLs for a thousand prefixes
of the name.
"""


ASSIGNMENTS: Final = ("assignment", "target_assignment")
"""Fields of a described member; those of share groups have no target of their own."""


LeaveOut = Callable[[Callable[[str], bool], Any, Any], Steps[None]]
"""(whether a found resource may be in the response, request, response): changes the response in place."""


class Reported(NamedTuple):
    """A field of a response with the authorized operations on a resource (KIP-430), if the handler has set it."""

    struct: Any
    field: str
    resource_type: ResourceType
    name: str


def keep(field: str, name: str) -> LeaveOut:
    """Keeps the elements of a list of the response whose resource is allowed."""

    def leave_out(is_allowed: Callable[[str], bool], request: Any, response: Any) -> Steps[None]:
        kept = []
        for position, element in enumerate(getattr(response, field)):
            if is_allowed(getattr(element, name)):
                kept.append(element)
            if position % DECISIONS_AT_ONCE == DECISIONS_AT_ONCE - 1:
                yield
        setattr(response, field, kept)

    return leave_out


def operations_on_groups(request: Any, response: Any) -> Iterator[Reported]:
    for group in response.groups:
        yield Reported(group, "authorized_operations", ResourceType.GROUP, group.group_id)


def leave_out_fetched_topics(is_allowed: Callable[[str], bool], request: Any, response: Any) -> Steps[None]:
    everything = {group.group_id for group in request.groups if group.topics is None}
    for group in response.groups:
        if group.group_id in everything:
            kept = []
            for position, topic in enumerate(group.topics):
                if is_allowed(topic.name):
                    kept.append(topic)
                if position % DECISIONS_AT_ONCE == DECISIONS_AT_ONCE - 1:
                    yield
            group.topics = kept
        yield


def fetches_all(request: Any, api_version: int) -> bool:
    if api_version < GROUPS_VERSION:
        return request.topics is None
    return any(group.topics is None for group in request.groups)


def topics_described(group: Any) -> set[str]:
    """The topics that the members of a described group have, or are to have; those of its topology, if it has one."""
    if hasattr(group, "topology"):
        return set() if group.topology is None else set(topics_of_topology(group.topology))
    return {
        topic.topic_name
        for member in group.members
        for field in ASSIGNMENTS
        if hasattr(member, field)
        for topic in getattr(member, field).topic_partitions
    }


def hide_groups(is_allowed: Callable[[str], bool], request: Any, response: Any) -> Steps[None]:
    """Groups whose members have, or are to have, a topic that the client may not see."""
    groups = []
    for group in response.groups:
        topics = topics_described(group)
        yield
        is_visible = True
        for position, topic in enumerate(topics):
            is_visible = is_visible and is_allowed(topic)
            if position % DECISIONS_AT_ONCE == DECISIONS_AT_ONCE - 1:
                yield
        groups.append(group if is_visible else _hidden_group(group))
    response.groups = groups


def _hidden_group(group: Any) -> Any:
    return type(group)(
        group_id=group.group_id,
        error_code=TAF,
        error_message="The group has described topic(s) that the client is not authorized to describe.",
    )


def operations_of(reported: Iterable[Reported], access: Access, supported: Mapping[ResourceType, Any]) -> Steps[None]:
    """Let the response report what the client may do, where it reports all that can be done."""
    for struct, field, resource_type, name in reported:
        if getattr(struct, field) != NO_AUTHORIZED_OPERATIONS:
            allowed = 0
            is_hidden = resource_type is ResourceType.CLUSTER and not access.may(
                AclOperation.DESCRIBE, resource_type, name
            )
            if not is_hidden:
                for operation in supported[resource_type]:
                    if access.may(operation, resource_type, name):
                        allowed |= 1 << operation
            setattr(struct, field, allowed)
        yield
