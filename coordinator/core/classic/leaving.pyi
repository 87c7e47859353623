from collections.abc import Mapping, Sequence

from _wire.messages.leave_group import MemberIdentity, MemberResponse

class Leaving:
    """Who of the members and pending members of a group leaves; it changes none of them."""

    gone: dict[str, str | None]
    """Member id → reason of those that leave."""
    answers: list[MemberResponse]
    """The response to each identity."""

    def __init__(
        self, members: Mapping[str, object], pending_members: Mapping[str, object], static_members: Mapping[str, str]
    ) -> None: ...
    def leave(self, identities: Sequence[MemberIdentity]) -> None:
        """Let the members behind these identities leave, one after the other: a second time it is UNKNOWN_MEMBER_ID."""
