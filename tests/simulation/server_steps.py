"""Steps of administrators of groups, of time, of the disk, and of the server."""

from random import Random

from _wire.messages.delete_groups import DeleteGroupsRequest
from _wire.messages.describe_groups import DescribeGroupsRequest
from tests.simulation.clients import Client, Request
from tests.simulation.record_traffic import RecordTraffic
from tests.simulation.server import unanswered
from tests.simulation.world_server import config_of


class ServerSteps(RecordTraffic):
    """Each public method of a client and a value is a kind of step."""

    def delete(self, client: Client, value: int) -> None:
        self.send(
            None, "DeleteGroups", DeleteGroupsRequest(groups_names=[client.group_id]), 2, group_id=client.group_id
        )

    def describe(self, client: Client, value: int) -> None:
        request = DescribeGroupsRequest(groups=[client.group_id])
        self.send(None, "DescribeGroups", request, 6 if value else 5, group_id=client.group_id)

    # ---- time

    def wait(self, client: Client, value: int) -> None:
        self.end_batch()
        self.server.advance(value)

    def wait_for_deadline(self, client: Client, value: int) -> None:
        """Until the next timer is due, or a millisecond before (1) or after (2)."""
        self.end_batch()
        due_ms = self.server.wheel.next_deadline_ms() + (0, -1, 1)[value % 3]
        if due_ms > self.server.now_ms:
            self.server.advance(due_ms - self.server.now_ms)

    def stand_still(self, client: Client, value: int) -> None:
        """The coordinator does nothing for so long."""
        self.end_batch()
        self.server.stand_still(value)

    def batch(self, client: Client, value: int) -> None:
        """The next `value` steps are read in one turn of the loop: drained together, as one batch."""
        self.server.is_batching, self.batch_left = value > 0, value

    # ---- the disk and the server

    def fill_disk(self, client: Client, value: int) -> None:
        """Only `value` bytes more can be written; the write that does not fit is torn. Odd: nothing can be cut off."""
        self.server.disk.bytes_left, self.server.disk.truncate_fails = value, value % 2 == 1

    def break_reads(self, client: Client, value: int) -> None:
        self.server.disk.is_unreadable = True

    def heal(self, client: Client, value: int) -> None:
        self._repair()

    def _repair(self) -> None:
        """The disk and the coordinator have no defect any more."""
        self.server.disk.heal()
        for twins in self.server.twins:
            twins.breaking.clear()

    def break_group(self, client: Client, value: int) -> None:
        """The coordinator has a defect: the client's group breaks an invariant after `value` further events of it."""
        self.server.twins_of(client.group_id).breaking[client.group_id] = value

    def die_writing(self, client: Client, value: int) -> None:
        """The process will die when `value` bytes more are written."""
        self.server.disk.bytes_until_kill = value

    def kill(self, client: Client, value: int) -> None:
        """kill -9 and a new start, with another `group.max.size` if there is a `value`."""
        if value:
            self.server.config = config_of(self.setup._replace(max_size=value))
        self._start_again()

    def lose_power(self, client: Client, value: int) -> None:
        """What was not flushed is gone, but for some; `value` is the seed of how much."""
        random = Random(value)
        self.server.disk.lose_power(lambda size: random.choice((0, size, random.randint(0, size))))
        for twins in self.server.twins:
            twins.power_was_lost = twins.power_was_ever_lost = True
        if not self.setup.is_durable:
            self.acknowledged.power_was_lost()
        self._start_again(power_was_lost=not self.setup.is_durable)

    def set_wall_clock(self, client: Client, value: int) -> None:
        for twins in self.server.twins:
            twins.clock_was_set_back |= value < self.server.wall.step_ms
        self.server.set_wall_clock(value)

    def flush(self, client: Client, value: int) -> None:
        if not self.disk_is_faulty:
            self.server.flush()
            for twins in self.server.twins:
                twins.note_flushed()

    def stop(self, client: Client, value: int) -> None:
        """A clean stop and a start that trusts the logs."""
        if not self.disk_is_faulty:
            self.end_batch()
            self.server.stop()
            for twins in self.server.twins:
                twins.note_flushed()
            self._start_again(clean=True)

    def delete_old_audit(self, client: Client, value: int) -> None:
        """What retention does to the audit topic: the next start finds segments before the last checkpoint deleted."""
        if not self.disk_is_faulty:
            self.end_batch()
            self.server.flush()
            for twins in self.server.twins:
                twins.note_flushed()
            self.seen["segment of the audit deleted"] += self.server.delete_old_audit()
            self._start_again()

    def _start_again(self, *, clean: bool = False, power_was_lost: bool = False) -> None:
        """All connections are gone, and all that was under way on them."""
        self.batch_left = 0
        waiting = [each for each in unanswered(self.server.pending).values() if isinstance(each, Request)]
        self.ledger.server_died([each for each in waiting + self.unobserved() if not each.is_closed])
        self.server_died()
        for client in self.clients:
            client.lose_connections(self.server.now_ms)
        self.newest.clear()
        self.closed.clear()
        self._repair()
        self.server.start(clean=clean)
        for group_id in self.group_ids:
            expired = self.server.twins_of(group_id).expired.pop(group_id, set())
            self.ledger.reload(group_id, self.group(group_id), expired, may_be_lost=power_was_lost)
        self.ledger.undecided = []
        for twins in self.server.twins:
            twins.power_was_lost = False
            twins.came_by.clear()
