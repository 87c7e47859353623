"""The clients that static members have now: events go on to name the one that joined first, as DescribeGroups does."""

from typing import Any, Final, TypeVar

import msgspec

from coordinator.audit.schema import AuditEvent, MemberRef, MemberSnapshot, StaticMemberReplaced, Trigger, WaitedFor

E = TypeVar("E", bound=AuditEvent)

CLIENTS_KEPT: Final = 1_000
"""How many replaced members are remembered, the newest."""

_NAMING: Final = ("member", "holder", "slowest_member", "triggers", "never_synced", "members", "waits_for")


def remember_client(clients: dict[str, MemberRef], event: StaticMemberReplaced) -> None:
    """Note which client took the place of a static member, in a dict of member id → client."""
    clients[event.member.member_id] = event.member
    if len(clients) > CLIENTS_KEPT:
        del clients[next(iter(clients))]


def with_clients(event: E, clients: dict[str, MemberRef]) -> E:
    """The event, with the members of `clients` as these describe them."""

    def named(value: Any) -> Any:
        match value:
            case MemberRef():
                return clients.get(value.member_id, value)
            case Trigger(member=MemberRef()) | MemberSnapshot() | WaitedFor():
                return msgspec.structs.replace(value, member=named(value.member))
            case list():
                return [named(element) for element in value]
        return value

    values = {name: getattr(event, name) for name in _NAMING if hasattr(event, name)}
    changed = {name: now for name, value in values.items() if (now := named(value)) != value}
    return msgspec.structs.replace(event, **changed) if changed else event
