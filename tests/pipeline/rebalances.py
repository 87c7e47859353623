"""A real history on a real server, by members that say only what the test wants, and leave nothing behind."""

from _wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from _wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from coordinator.client.bootstrap import Server
from tests.wire_client import WireClient, join_request

SYNC_VERSION, JOIN_VERSION, LEAVE_VERSION = 3, 3, 3


class OnlyMember:
    """The one member of a group, which rebalances when it says so."""

    def __init__(self, client: WireClient, group_id: str) -> None:
        self._client = client
        self.group_id = group_id
        self.member_id = client.join_alone(group_id)
        self.generation_id = 1

    def rejoin(self) -> int:
        """As the leader does when its topics changed: a rebalance, which has ended when this returns its generation."""
        joined = self._client.request(join_request(self.group_id, self.member_id), JOIN_VERSION)
        assert (joined.error_code, joined.generation_id) == (0, self.generation_id + 1), joined
        self.generation_id = joined.generation_id
        assignment = SyncGroupRequestAssignment(member_id=self.member_id, assignment=b"all")
        sync = SyncGroupRequest(
            group_id=self.group_id,
            generation_id=self.generation_id,
            member_id=self.member_id,
            assignments=[assignment],
        )
        assert self._client.request(sync, SYNC_VERSION).error_code == 0
        return self.generation_id

    def leave(self) -> None:
        request = LeaveGroupRequest(group_id=self.group_id, members=[MemberIdentity(member_id=self.member_id)])
        assert self._client.request(request, LEAVE_VERSION).error_code == 0


def make_history(bootstrap: Server, groups: int, rebalances: int) -> int:
    """Each group is created, rebalances so often and is emptied; the number of its generations of all groups."""
    with WireClient(bootstrap) as client:
        for number in range(groups):
            member = OnlyMember(client, f"group-{number}")
            for _ in range(rebalances):
                member.rejoin()
            member.leave()
    return groups * (rebalances + 2)
