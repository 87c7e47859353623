"""Where static members came back: DescribeGroups goes on to tell the client before, as on Kafka, but the audit knows.

A member of a consumer group (KIP-848) is described as the client that it is now.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from coordinator.audit.schema import StaticMemberReplaced
from coordinator.client.audit_topic import AuditRecord, AuditTopic
from coordinator.client.bootstrap import Server
from coordinator.client.cluster import EARLIEST, LATEST
from coordinator.client.group_members import CameBack, DescribedMember
from coordinator.client.wire import ClientError
from coordinator.core.causes import Cause

RECORDS_READ_MAX: Final = 50_000
"""The newest of the audit that are looked through, of all groups in the partition: half a second."""


def with_newest_clients(server: Server, group_id: str, members: list[DescribedMember]) -> list[DescribedMember]:
    """The members, each with the client that came back as it, if the server has an audit that tells of one.

    Only asked of a server if a member is static; a server without audit, or one whose audit may not be read, knows
    none.
    """
    if not any(member.group_instance_id is not None and member.member_epoch is None for member in members):
        return members
    try:
        with AuditTopic(server) as topic:
            found = _came_back(_newest_records(topic, group_id))
    except ClientError:
        return members
    return [_with(member, found.get(member.member_id)) for member in members]


def _newest_records(topic: AuditTopic, group_id: str) -> Iterable[AuditRecord]:
    partition = topic.partition_of(group_id)
    start, end = (topic.offsets([partition], literal)[partition] for literal in (EARLIEST, LATEST))
    key = group_id.encode()
    return topic.records({partition: max(start, end - RECORDS_READ_MAX)}, lambda found: found == key)


def _came_back(records: Iterable[AuditRecord]) -> dict[str, CameBack]:
    """Member id → the client that took the place of a static member under it."""
    events = (record.event for record in records)
    return {
        event.member.member_id: CameBack(event.member.client_id, event.member.client_host, event.time_ms)
        for event in events
        if isinstance(event, StaticMemberReplaced) and event.cause is not Cause.FAULT  # which takes it for no client
    }


def _with(member: DescribedMember, came_back: CameBack | None) -> DescribedMember:
    is_same = came_back is None or came_back.is_client(member)
    return member if is_same else replace(member, came_back=came_back)
