"""A group at the cluster, of any group protocol, as its coordinator there describes it."""

from typing import Any, Final

import msgspec

from _wire.apis import APIS
from _wire.errors import ErrorCode
from _wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from _wire.messages.describe_groups import DescribedGroupMember, DescribeGroupsRequest
from _wire.messages.share_group_describe import ShareGroupDescribeRequest
from _wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from coordinator.cluster.brokers.connection import BrokerConnection
from coordinator.cluster.sentinels.membership import INSTANCE_ID

DESCRIBE_VERSION_MAX: Final = 5
"""Later versions answer GROUP_ID_NOT_FOUND for a group that has no classic protocol (KIP-1043)."""
CLASSIC: Final = "classic"
CONSUMER: Final = "consumer"
UNKNOWN_STATE: Final = "Dead"
SHARE: Final = "share"
STREAMS: Final = "streams"
NOT_OF_THE_KIND: Final = frozenset({ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION})
"""The latter where the protocol is switched off: brokers from 3.7 on offer its APIs all the same."""
UNUSED_STATES: Final = frozenset({UNKNOWN_STATE, "Empty", ""})


class DescribedGroup(msgspec.Struct, frozen=True):
    """A group at the cluster, without its sentinel."""

    state: str
    members: list[DescribedGroupMember]
    unnamed_members: int = 0
    """One that joins an empty group, of which the cluster does not tell yet."""
    group_type: str = CLASSIC
    """As ListGroups has it."""

    @property
    def has_members(self) -> bool:
        """Of a kind of group that nodes may coordinate."""
        return bool(self.members or self.unnamed_members)

    @property
    def is_of_other_kind(self) -> bool:
        """Whether nodes cannot coordinate it, whatever the rules say. Its members are not told."""
        return self.group_type in (SHARE, STREAMS)


async def describe(connection: BrokerConnection, group_id: str) -> DescribedGroup | ErrorCode:
    """Ask the coordinator of a group for it; a group that it does not know is in the state Dead. Raises BrokerError."""
    response = await connection.request(DescribeGroupsRequest(groups=[group_id]), DESCRIBE_VERSION_MAX)
    (group,) = response.groups
    error = ErrorCode(group.error_code)
    if error not in (ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND):
        return error
    if error is ErrorCode.GROUP_ID_NOT_FOUND or group.group_state == UNKNOWN_STATE:
        return await _describe_of_consumer_protocol(connection, group_id)
    if group.group_state in UNUSED_STATES:
        return DescribedGroup(group.group_state, [])
    members = [member for member in group.members if member.group_instance_id != INSTANCE_ID]
    return DescribedGroup(group.group_state, members, unnamed_members=0 if group.members else 1)


async def _describe_of_consumer_protocol(connection: BrokerConnection, group_id: str) -> DescribedGroup | ErrorCode:
    """A group that is not known by DescribeGroups may be one of KIP-848."""
    group = await _described_by(connection, ConsumerGroupDescribeRequest, group_id)
    if group is None:
        return await _describe_of_other_kind(connection, group_id)
    if isinstance(group, ErrorCode):
        return group
    members = [_as_classic(member) for member in group.members]
    return DescribedGroup(group.group_state, members, group_type=CONSUMER)


async def _describe_of_other_kind(connection: BrokerConnection, group_id: str) -> DescribedGroup | ErrorCode:
    for group_type, request_class in ((SHARE, ShareGroupDescribeRequest), (STREAMS, StreamsGroupDescribeRequest)):
        group = await _described_by(connection, request_class, group_id)
        if isinstance(group, ErrorCode):
            return group
        if group is not None:
            return DescribedGroup(group.group_state, [], group_type=group_type)
    return DescribedGroup(UNKNOWN_STATE, [])


async def _described_by(connection: BrokerConnection, request_class: Any, group_id: str) -> Any:
    """The group in the response of an API of one kind of groups; None: it is none of this kind."""
    api = APIS[request_class.API_KEY]
    if not any(
        connection.requests.supports(api.key, version) for version in range(api.min_version, api.max_version + 1)
    ):
        return None
    response = await connection.request(request_class(group_ids=[group_id]))
    (group,) = response.groups
    error = ErrorCode(group.error_code)
    if error in NOT_OF_THE_KIND:
        return None
    return group if error is ErrorCode.NONE else error


def _as_classic(member: Any) -> DescribedGroupMember:
    return DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
    )
