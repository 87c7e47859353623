"""Steps of members of groups: what good clients send, what bad ones send, and how clients end."""

from typing import Final

from _wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from _wire.messages.sync_group import SyncGroupRequestAssignment
from coordinator.core.groups.states import GroupState
from coordinator.core.topic_partition import TopicPartition
from tests.simulation.clients import Client, Phase
from tests.simulation.consumer_members import ConsumerProtocolMember
from tests.simulation.consumers import PARTITIONS, PATTERNS, PROTOCOLS, SUBSCRIPTIONS, TRANSFERS, assignment
from tests.simulation.record_traffic import RecordTraffic
from tests.simulation.traffic import pending_members
from tests.simulation.world_server import RECORD_BATCH_BYTES_MAX

NOBODY: Final = "nobody"


class MemberSteps(RecordTraffic):
    """Each public method is a kind of step."""

    def act(self, client: Client, value: int) -> None:
        """The client reads what came, and sends what a good client sends next."""
        if client.deaf_until_ms > self.server.now_ms:
            return
        client.read_answers()
        if client.under_way and client.last is not None and client.last.response is not None:
            self.close(client)  # what came again was answered; the answer to the first need not come
        if client.under_way:
            return
        if client.is_fenced:
            client.start()
        if client.modern is not None and self._may_revoke(client, client.modern):
            client.modern.revoke()
        self.send(client, *client.next_message())

    def _may_revoke(self, client: Client, modern: ConsumerProtocolMember) -> bool:
        """A good client gives up no partition amid a transaction of what it read there."""
        if self.server.now_ms < modern.dawdles_until_ms or not modern.has_to_revoke:
            return False
        producers = self.transactional.get(client.name), self.zombies.get(client.name)
        return not any(producer is not None and producer.is_in_transaction for producer in producers)

    def everybody(self, client: Client, value: int) -> None:
        """All clients act, `client` first; an odd `value`: and their producers go on."""
        first = self.clients.index(client)
        for each in self.clients[first:] + self.clients[:first]:
            self.act(each, 0)
            if value % 2:
                self.program(each).step(value // 2)

    def heartbeat(self, client: Client, value: int) -> None:
        """One that says something wrong (`value`: what), or by who is no member yet, or beside a request under way."""
        message = client.heartbeat_message()
        if value in (1, 2):
            message.generation_id += (-1, 1)[value - 1]
        elif value == 3:
            message.group_instance_id = None if client.instance_id else "static-other"
        elif value == 4:
            message.member_id = NOBODY
        elif value == 5:
            group = self.group(client.group_id).membership
            message.generation_id = group.generation_id
            message.member_id = next(iter(pending_members(group)), client.member_id)
        self.send(None, "Heartbeat", message, 4)

    def sync(self, client: Client, value: int) -> None:
        """One that says something wrong, or comes again, or with assignments of somebody who is no leader, or with one
        that no record batch holds (5)."""
        if value == 5:
            # Of a leader that has not assigned yet, if there is one: its group alone takes assignments.
            client = next(filter(self._is_about_to_assign, self.clients), client)
        if client.modern is not None:
            return
        message = client.sync_message()
        if value in (1, 2):
            message.generation_id += (-1, 1)[value - 1]
            message.assignments = []
        elif value == 5:
            assignment_bytes = bytes(RECORD_BATCH_BYTES_MAX)
            message.assignments = [SyncGroupRequestAssignment(member_id=client.member_id, assignment=assignment_bytes)]
        elif value == 3:
            message.protocol_name = "other"
        elif value == 4 and not message.assignments:
            everything = tuple(TopicPartition("t", index) for index in range(PARTITIONS["t"]))
            message.assignments = [
                SyncGroupRequestAssignment(member_id=each.member_id, assignment=assignment(everything))
                for each in self.clients
                if each.member_id
            ]
        self.send_beside(client, "SyncGroup", message, 5)

    def _is_about_to_assign(self, client: Client) -> bool:
        client.read_answers()
        group = self.group(client.group_id).membership
        return group.state is GroupState.COMPLETING_REBALANCE and group.leader == client.member_id

    def join(self, client: Client, value: int) -> None:
        """One that nothing asked for, or that says something wrong."""
        if client.modern is not None:
            return
        message, version = client.join_message(), client.setup.join_version
        if value == 1:
            message.member_id = ""
        elif value == 2:
            message.member_id = NOBODY
        elif value == 3:
            message.session_timeout_ms = 1
        elif value == 4:
            message.protocols = []
        elif value == 5 and client.instance_id is None:
            version = 0
        self.send_beside(client, "JoinGroup", message, version)

    def again(self, client: Client, value: int) -> None:
        """What the client sent last, once more on a second connection; the first one stays open.

        In the consumer protocol only what says nothing of partitions: it would be a lie by then.
        """
        if client.last is not None and not client.last.says_partitions:
            self.send(client, client.last.api, client.last.message, client.last.version)

    def leave(self, client: Client, value: int) -> None:
        """The client says goodbye alone (0, 1: in an old version), with others (2), or an administrator says it (3)."""
        if not client.member_id and client.instance_id is None:
            return
        if client.modern is not None and value != 3:
            self._leave_as_modern(client, client.modern, value)
            return
        goodbyes = [MemberIdentity(member_id=client.member_id, group_instance_id=client.instance_id)]
        if value == 2:
            others = [each for each in self.clients if each.group_id == client.group_id and each is not client]
            goodbyes += [
                MemberIdentity(member_id=other.member_id, group_instance_id=other.instance_id) for other in others
            ]
            goodbyes.append(goodbyes[0])
        elif value == 3 and client.instance_id is not None:
            goodbyes = [MemberIdentity(member_id="", group_instance_id=client.instance_id)]
        message = LeaveGroupRequest(group_id=client.group_id, member_id=client.member_id, members=goodbyes)
        self.send(None, "LeaveGroup", message, 1 if value == 1 else 5)
        if value != 3:
            self.close(client)
            client.start()

    def _leave_as_modern(self, client: Client, modern: ConsumerProtocolMember, value: int) -> None:
        """For good, or a static member for a moment (2)."""
        if modern.member_id:
            message = modern.leave_message(for_a_moment=value == 2)
            self.send(None, "ConsumerGroupHeartbeat", message, modern.version)
        self.close(client)
        self.end_program(client)
        client.start()

    def beat(self, client: Client, value: int) -> None:
        """A ConsumerGroupHeartbeat that says something wrong (`value`: what), beside those of the client."""
        modern = client.modern
        if modern is None:
            return
        message = modern.steady_message()
        if value in (1, 2):
            message.member_epoch += (-1, 1)[value - 1]
        elif value == 3:
            message.instance_id = "static-other"
        elif value == 4:
            message.member_id = NOBODY
        elif value == 5:
            message.server_assignor = "unknown"
        elif value == 6:
            message.subscribed_topic_regex = "("
        if message.member_epoch > 0:
            self.send(None, "ConsumerGroupHeartbeat", message, 1)

    def dawdle(self, client: Client, value: int) -> None:
        """The client gives up no partition for so long."""
        if client.modern is not None:
            client.modern.dawdles_until_ms = self.server.now_ms + value

    def migrate(self, client: Client, value: int) -> None:
        """The client's process ends, in order (0) or not, and a new one speaks the other protocol."""
        if value == 0:
            self.leave(client, 0)
        self.crash(client, 0)
        client.protocol = "classic" if client.protocol == "consumer" else "consumer"
        client.start()

    def crash(self, client: Client, value: int) -> None:
        """The client's process dies; the next time it acts it is a new one."""
        self.close(client)
        self.end_program(client)
        client.start()

    def reconnect(self, client: Client, value: int) -> None:
        """The client's connections break; it remembers who it is."""
        self.close(client)
        self.stop_waiting(client)

    def stall(self, client: Client, value: int) -> None:
        client.deaf_until_ms = self.server.now_ms + value

    def subscribe(self, client: Client, value: int) -> None:
        """Other topics, and so it joins again. In the consumer protocol a regular expression too, or nothing at all."""
        client.topics = SUBSCRIPTIONS[value % len(SUBSCRIPTIONS)]
        if client.modern is not None:
            client.pattern = PATTERNS[value // len(SUBSCRIPTIONS) % len(PATTERNS)]
            if client.group_id == TRANSFERS or not client.modern.version:
                client.pattern = ""
            elif value >= len(SUBSCRIPTIONS) * len(PATTERNS):
                client.topics = ()
            return
        if not client.under_way:
            client.phase = Phase.OUT

    def offer(self, client: Client, value: int) -> None:
        """Other protocols, and so it joins again."""
        client.protocols = PROTOCOLS[value % len(PROTOCOLS)]
        if not client.under_way and client.modern is None:
            client.phase = Phase.OUT
