"""What happens in a world: to processes, hosts, networks, topics, the group, and the coordinator.

Each public method of `Actions` that takes a consumer and a `value` is a kind of action. None fails for want of a
consumer in the right state, so that any other action can be left out of a history.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.delete_groups import DeleteGroupsRequest
from _wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tests.world.classic_consumer import ClassicConsumer, Phase
from tests.world.history import GROUP_ID, Action
from tests.world.modern_consumer import ModernConsumer
from tests.world.network import Request
from tests.world.truth import AdminAct, AwayKind, Ended, Way
from tests.world.world import Consumer, World

RESTART_MS: Final = 500
PAUSE_KINDS: Final = ("suspended", "without_cpu", "blocked")
SUBSCRIPTIONS: Final = (("t",), ("t", "u"), ("u",))
PATTERNS: Final = ("t.*", "[tu]", "u|tu", ".*", "none")
"""Regular expressions of members of the new protocol."""
OTHER_TOPICS: Final = ("u", "tu", "v")
"""Topics that come and go beside `t`: some patterns match them, and some do not."""


class Actions(World):
    """A world in which things can be made to happen."""

    def plan(self, action: Action) -> None:
        kind: Callable[[Consumer, int], None] = getattr(self, action.kind)
        consumer = self.consumers[action.who % len(self.consumers)]
        self.schedule.at(self.begin_ms + action.at_ms, lambda: kind(consumer, action.value))

    def _later(self, ms: int, callback: Callable[[], None]) -> None:
        self.schedule.at(self.now_ms + ms, callback)

    # ---- processes

    def start(self, consumer: Consumer, value: int) -> None:
        """A new process, on another host if `value` is odd; nothing if one runs."""
        if not consumer.is_running:
            consumer.host += value % 2
            self.start_process(consumer)

    def kill(self, consumer: Consumer, value: int) -> None:
        """kill -9; a new process follows after `value` ms, if that is not 0."""
        self.end_process(consumer, Ended.KILLED)
        self._start_after(consumer, value)

    def lose_host(self, consumer: Consumer, value: int) -> None:
        """Its host loses power; a new process follows on another one after `value` ms, if that is not 0."""
        self.end_process(consumer, Ended.POWER)
        consumer.host += 1
        self._start_after(consumer, value)

    def close(self, consumer: Consumer, value: int) -> None:
        """Its consumer is closed in order; a new process follows after `value` ms, if that is not 0."""
        if consumer.process is not None and consumer.process.is_alive and not consumer.process.is_stopped:
            consumer.process.close(says_goodbye=True)
        self._start_after(consumer, value)

    def _start_after(self, consumer: Consumer, value: int) -> None:
        if value:
            self._later(value, lambda: self.start(consumer, 0))

    def crash_loop(self, consumer: Consumer, value: int) -> None:
        """Its process ends every 3 s, `value` times, and comes again at once."""
        self.kill(consumer, RESTART_MS)
        if value > 1:
            self._later(3_000, lambda: self.crash_loop(consumer, value - 1))

    def roll(self, consumer: Consumer, value: int) -> None:
        """All are closed and started again, one each `value` ms, on other hosts if `value` is odd."""
        running = [each for each in self.consumers if each.is_running]
        for position, each in enumerate(running):
            self._later(position * value, partial(self._replace, each, value))

    def _replace(self, consumer: Consumer, value: int) -> None:
        consumer.host += value % 2
        self.close(consumer, RESTART_MS)

    def suspend(self, consumer: Consumer, value: int) -> None:
        """SIGSTOP, and SIGCONT after `value` ms; 0: never."""
        self._stop_for(consumer, value, lambda process: process.suspend())

    def starve(self, consumer: Consumer, value: int) -> None:
        """It has no processor for `value` ms."""
        self._stop_for(consumer, value, lambda process: process.starve())

    def _stop_for(self, consumer: Consumer, value: int, stop: Callable[[Any], None]) -> None:
        process = consumer.process
        if process is not None and process.is_alive and not process.is_stopped:
            stop(process)
            if value:
                self._later(value, process.resume)

    def block(self, consumer: Consumer, value: int) -> None:
        """Its application works on one batch for `value` ms."""
        if consumer.process is not None and consumer.process.is_alive and not consumer.process.is_stopped:
            consumer.process.block(value)

    def die_joining(self, consumer: Consumer, value: int) -> None:
        """It is killed when it next waits in a join phase, within a minute."""
        process = consumer.process
        if value >= 600 or process is None or not process.is_alive:
            return
        if isinstance(process, ClassicConsumer) and process.phase is Phase.JOINING and process.member_id:
            self.end_process(consumer, Ended.KILLED)
        else:
            self._later(100, lambda: self.die_joining(consumer, value + 1))

    def unsubscribe(self, consumer: Consumer, value: int) -> None:
        if consumer.process is not None and consumer.process.is_alive and not consumer.process.is_blocked:
            consumer.process.run(partial(consumer.process.leave, Way.UNSUBSCRIBED))

    def subscribe(self, consumer: Consumer, value: int) -> None:
        if consumer.process is not None and consumer.process.is_alive:
            topics = SUBSCRIPTIONS[value % len(SUBSCRIPTIONS)]
            consumer.setup = consumer.setup._replace(topics=topics)
            process = consumer.process
            process.run(lambda: process.subscribe(topics), in_poll=True)

    def subscribe_to_pattern(self, consumer: Consumer, value: int) -> None:
        """Another regular expression, or none, beside its topics; clients of the classic protocol resolve their own."""
        process = consumer.process
        if isinstance(process, ModernConsumer) and process.is_alive:
            pattern = (*PATTERNS, "")[value % (len(PATTERNS) + 1)]
            consumer.setup = consumer.setup._replace(pattern=pattern)
            process.run(lambda: process.subscribe_to_pattern(pattern), in_poll=True)

    # ---- between the processes and the coordinator

    def cut(self, consumer: Consumer, value: int) -> None:
        """The network drops everything for `value` ms; then, if it is odd, its client takes a new connection."""
        process = consumer.process
        if process is not None and process.is_alive and not process.truth.cut.is_on:
            process.cut()
            self._later(value, lambda: process.join_again(delivers=value % 2 == 0))

    def proxy(self, consumer: Consumer, value: int) -> None:
        """Something between closes its connection, and lets none be opened for `value` ms."""
        process = consumer.process
        if process is not None and process.is_alive and not process.truth.proxied.is_on:
            process.note_progress()
            process.proxied()
            self._later(value, lambda: process.truth.proxied.end(self.now_ms))

    def proxy_all(self, consumer: Consumer, value: int) -> None:
        """A load balancer is away for `value` ms."""
        for each in self.consumers:
            self.proxy(each, value)

    def refuse(self, consumer: Consumer, value: int) -> None:
        """Its right to READ the group is revoked for `value` ms."""
        process = consumer.process
        if process is not None and process.is_alive and not process.truth.refused.is_on:
            process.note_progress()
            process.truth.refused.begin(self.now_ms)
            self._later(value, lambda: process.truth.refused.end(self.now_ms))

    def mute(self, consumer: Consumer, value: int) -> None:
        """The coordinator reads nothing from its connection for `value` ms."""
        process = consumer.process
        if process is None or not process.is_alive or process.muted is not None:
            return
        if process.connection.is_open and self.server.listens:
            process.mute()
            process.connection.mute(self.now_ms, self.now_ms + value)
            truth = process.truth
            self.server.throttled.note(truth.client_id, truth.host, self.now_ms, self.now_ms + value)
            self._later(value, partial(process.unmute, process.connection))

    # ---- topics

    def _when_served(self, callback: Callable[[], None]) -> None:
        """The coordinator's process serves the requests about topics, too."""
        if self.server.listens:
            callback()
        else:
            self._later(RESTART_MS, lambda: self._when_served(callback))

    def create_topic(self, consumer: Consumer, value: int) -> None:
        """`u`, with `value` partitions."""

        def create() -> None:
            if not self.topics.partition_count("u"):
                self.topics.create("u", max(1, value % 12))

        self._when_served(create)

    def grow_topic(self, consumer: Consumer, value: int) -> None:
        """`t` gets `value` partitions more."""

        def grow() -> None:
            if count := self.topics.partition_count("t"):
                self.topics.create("t", count + max(1, value % 12))

        self._when_served(grow)

    def delete_topic(self, consumer: Consumer, value: int) -> None:
        """`t`; it is made again after `value` ms, if that is not 0."""
        self._when_served(lambda: self._delete_topic(value))

    def _delete_topic(self, value: int) -> None:
        count = self.topics.partition_count("t")
        if not count:
            return
        self._delete("t")
        if value:
            self._later(value, lambda: self._when_served(lambda: self.topics.create("t", count)))

    def create_other_topic(self, consumer: Consumer, value: int) -> None:
        """One of `OTHER_TOPICS`, or more partitions of it."""
        name = OTHER_TOPICS[value % len(OTHER_TOPICS)]
        self._when_served(lambda: self.topics.create(name, self.topics.partition_count(name) + 1 + value % 4))

    def delete_other_topic(self, consumer: Consumer, value: int) -> None:
        """One of `OTHER_TOPICS`, if it is there."""
        self._when_served(lambda: self._delete(OTHER_TOPICS[value % len(OTHER_TOPICS)]))

    def _delete(self, name: str) -> None:
        if not self.topics.partition_count(name):
            return
        self.topics.delete(name)
        for process in self.processes():
            process.give_up([each for each in process.held if each[0] == name])
        self.server.coordinator.topics_deleted([name])
        self.iterate()

    # ---- records

    def open_transaction(self, consumer: Consumer, value: int) -> None:
        """A producer writes to a partition of `t` in a transaction, which ends after `value` ms; 0: never."""
        count = self.topics.partition_count("t")
        if not count:
            return
        begun = self.topics.begin_transaction("t", consumer.number % count)

        def end() -> None:
            begun.ended_ms = self.now_ms

        if value:
            self._later(value, end)

    def stick(self, consumer: Consumer, value: int) -> None:
        """Nobody can process the next record of a partition of `t` for `value` ms; 0: for ever."""
        count = self.topics.partition_count("t")
        if not count:
            return
        partition = self.topics.partition("t", consumer.number % count)
        end = self.topics.log_end_offset("t", partition[2])
        if end is None or partition in self.truth.stuck:
            return
        self.truth.stuck[partition] = end, self.now_ms

        def let_go() -> None:
            del self.truth.stuck[partition]

        if value:
            self._later(value, let_go)

    # ---- administrators

    def _administer(self, what: str, api: str, message: Any, version: int, member_ids: tuple[str, ...] = ()) -> None:
        def received(response: Any, error: ErrorCode) -> None:
            """Nobody waits for it."""

        self.truth.acts.append(AdminAct(self.now_ms, what, member_ids))
        self.network.send(Request(self, None, api, message, version, received))

    def remove_member(self, consumer: Consumer, value: int) -> None:
        process = consumer.process
        member_id = getattr(process, "member_id", "")
        if process is None or not member_id:
            return
        member = MemberIdentity(member_id=member_id, group_instance_id=None, reason="member was removed by an admin")
        if process.setup.instance_id is not None:
            member = MemberIdentity(member_id="", group_instance_id=process.setup.instance_id)
        message = LeaveGroupRequest(group_id=GROUP_ID, member_id="", members=[member])
        named = (member_id,) if process.setup.instance_id is None else (member_id, process.setup.instance_id)
        self._administer("remove", "LeaveGroup", message, 5, named)

    def reset_offsets(self, consumer: Consumer, value: int) -> None:
        parts = [
            OffsetCommitRequestPartition(partition_index=index, committed_offset=value)
            for index in range(self.topics.partition_count("t"))
        ]
        message = OffsetCommitRequest(
            group_id=GROUP_ID,
            generation_id_or_member_epoch=-1,
            member_id="",
            topics=[OffsetCommitRequestTopic(name="t", partitions=parts)],
        )
        self._administer("reset", "OffsetCommit", message, 8)

    def delete_offsets(self, consumer: Consumer, value: int) -> None:
        parts = [OffsetDeleteRequestPartition(partition_index=0)]
        message = OffsetDeleteRequest(group_id=GROUP_ID, topics=[OffsetDeleteRequestTopic(name="t", partitions=parts)])
        self._administer("delete offsets", "OffsetDelete", message, 0)

    def delete_group(self, consumer: Consumer, value: int) -> None:
        self._administer("delete group", "DeleteGroups", DeleteGroupsRequest(groups_names=[GROUP_ID]), 2)

    # ---- the coordinator

    def kill_coordinator(self, consumer: Consumer, value: int) -> None:
        """kill -9, and a new start after `value` ms."""
        if self.server.listens:
            self.server.kill()
            self._start_again_after(AwayKind.KILLED, value, clean=False)

    def stop_coordinator(self, consumer: Consumer, value: int) -> None:
        """It is stopped in order, and started again after `value` ms."""
        if self.server.listens and not self.server.disk.is_full:
            self.server.stop()
            self._start_again_after(AwayKind.STOPPED, value, clean=True)

    def kill_leader(self, consumer: Consumer, value: int) -> None:
        """The node that leads is killed, and another one takes over after `value` ms."""
        if self.server.listens:
            self.server.kill()
            self._start_again_after(AwayKind.KILLED, value, clean=False, by_another=True)

    def stop_leader(self, consumer: Consumer, value: int) -> None:
        """The node that leads is stopped in order, and another one takes over after `value` ms."""
        if self.server.listens and not self.server.disk.is_full:
            self.server.stop()
            self._start_again_after(AwayKind.STOPPED, value, clean=True, by_another=True)

    def _start_again_after(self, kind: AwayKind, ms: int, *, clean: bool, by_another: bool = False) -> None:
        self.goes_away(kind)
        self.coordinator_ended()

        def start() -> None:
            if self.server.disk.is_full:
                self._later(RESTART_MS, start)  # it cannot start, and is started again
                return
            if by_another:
                self.server.take_over()
            else:
                self.server.start(clean=clean)
            self.is_back(self.server.node_id if by_another else None)
            self.recorder.watch()

        self._later(ms, start)

    def pause_coordinator(self, consumer: Consumer, value: int) -> None:
        """Its process does not run for `value` ms."""
        if not self.server.listens:
            return
        from_ms = self.now_ms
        self.goes_away(AwayKind.PAUSED)
        self.server.is_paused = True

        def resume() -> None:
            self.is_back()
            self.server.resumed(from_ms, PAUSE_KINDS[value % 3])
            self.is_batching = True
            unread, self.network.unread = self.network.unread, []
            for request in unread:
                self.network.reach(request)
            found, self.found_later = self.found_later, []
            for callback in found:
                callback()
            self.is_batching = False
            self.iterate()

        self._later(value, resume)

    def fill_disk(self, consumer: Consumer, value: int) -> None:
        """Nothing can be written for `value` ms."""
        self.server.disk.is_full = True
        self.truth.full.begin(self.now_ms)

        def empty() -> None:
            self.server.disk.is_full = False
            self.truth.full.end(self.now_ms)

        self._later(value, empty)
