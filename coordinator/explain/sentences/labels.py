"""How clients are called by what they keep when they are restarted."""

from coordinator.audit.schema import MemberRef
from coordinator.explain.claims.findings import Identity
from coordinator.explain.identities import identity
from coordinator.explain.words import host_of, plain


def label(found: Identity) -> str:
    """`billing-3 (10.0.0.1)`, or the instance id."""
    name = plain(found[0]) if found[0] else "a client without a client id"
    host = host_of(found[1]) if len(found) > 1 else ""
    return f"{name} ({host})" if host else name


def label_of(member: MemberRef) -> str:
    return label(identity(member))
