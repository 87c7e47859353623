from coordinator.timers.wheel import TimerWheel

class SessionTable:
    """All sessions of one process. `seed` is a random number that clients cannot know."""

    def __init__(self, wheel: TimerWheel, seed: int) -> None: ...
    def __len__(self) -> int: ...
    def renew(
        self, group_id: str, member_id: str, group_instance_id: str | None, session_timeout_ms: int, now_ms: int
    ) -> None:
        """Begin the member's session anew at `now_ms`; a member without one gets it."""
    def reserve(self, group_id: str, member_id: str, session_timeout_ms: int, now_ms: int) -> None:
        """Begin the time in which the member id has to join (KIP-394): a session that no heartbeat renews."""
    def transfer(
        self, group_id: str, old_member_id: str, new_member_id: str, session_timeout_ms: int, now_ms: int
    ) -> None:
        """The session goes to the member id that takes the old one's place, and begins anew at `now_ms` (KIP-345).

        Once more by the timeout it has; `session_timeout_ms` counts from its next renewal on. KeyError without one.
        """
    def is_due(self, group_id: str, member_id: str, now_ms: int) -> bool:
        """Asked when the wheel fired for this session: whether it ran out. If not, the wheel will ask again."""
    def is_over(self, group_id: str, member_id: str, now_ms: int) -> bool:
        """Whether the member's session has run out, or never was."""
    def deadline_ms(self, group_id: str, member_id: str) -> int | None:
        """When the session runs out if nothing is heard; None without a session."""
    def set_group(self, group_id: str, generation_id: int, open: bool) -> None:
        """Open or close the fast path for a generation of the group."""
    def drop(self, group_id: str, member_id: str) -> bool:
        """End the session of a member that is gone; False when it had none."""
    def drop_group(self, group_id: str) -> None:
        """End all sessions of a group that is gone or no longer served here."""
    def members(self, group_id: str) -> list[str]:
        """The ids of the group's members that have a session."""
    def take_heartbeat(
        self, group_id: str, member_id: str, group_instance_id: str | None, generation_id: int, now_ms: int
    ) -> bool:
        """The fast path as Python sees it: true when the heartbeat changed nothing but the deadline."""
