"""What a description of a group says in sentences."""

from coordinator.explain.words import Clock, host_of, plain


def returned(instance_id: str, host: str, since_ms: int, before: tuple[str, str], clock: Clock) -> str:
    """A static member came back from another host; `before` is the client id and host that DescribeGroups still has."""
    client_id, host_before = before
    return (
        f"{plain(instance_id)} came back at {clock(since_ms)} from {host_of(host)}; DescribeGroups, and so other tools,"
        f" still tell the client before: {plain(client_id)} ({host_of(host_before)})."
    )
