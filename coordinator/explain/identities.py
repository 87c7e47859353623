"""By what a client is known again when it comes back as another member."""

from coordinator.audit.schema import MemberRef
from coordinator.explain.claims.findings import Identity


def identity(member: MemberRef) -> Identity:
    """What a client keeps when it is restarted: its instance id, else its client id and host."""
    if member.group_instance_id is not None:
        return (member.group_instance_id,)
    return member.client_id, member.client_host
