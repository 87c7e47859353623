"""The rules of Kafka 4.3.1's transaction coordinator; the recorded scenarios have its answers on the wire."""

import msgspec
import pytest
from msgspec.structs import replace

from _wire.errors import ErrorCode
from coordinator.core.topic_partition import TopicPartition
from coordinator.core.transactions import operations
from coordinator.core.transactions.end import Completed
from coordinator.core.transactions.events import TransactionChanged
from coordinator.core.transactions.states import TransactionState
from coordinator.internal_topics import TRANSACTIONS_TOPIC
from tests.transactions.world import TIMEOUT_MS, World, offsets, orders

NONE = ErrorCode.NONE
ZERO_TO_FOUR = range(5)


@pytest.fixture
def world() -> World:
    return World()


def state(world: World, transactional_id: str = "t") -> str:
    return world.describe(transactional_id).transaction_state


# ---- InitProducerId


def test_each_initialization_raises_the_epoch(world):
    first, second = world.initialize(), world.initialize()
    assert (first.error_code, first.producer_epoch, second.producer_epoch) == (NONE, 0, 1)
    assert first.producer_id == second.producer_id != world.initialize("other").producer_id
    assert state(world) == "Empty"


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
def test_a_timeout_out_of_bounds_is_rejected(world, timeout_ms):
    assert world.initialize(timeout_ms=timeout_ms).error_code == ErrorCode.INVALID_TRANSACTION_TIMEOUT


def test_an_empty_transactional_id_is_invalid(world):
    assert world.initialize("").error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(("producer_id", "epoch"), [(-1, 3), (5, -1)])
def test_half_of_an_expected_producer_is_invalid(world, producer_id, epoch):
    assert world.initialize(producer_id=producer_id, epoch=epoch).error_code == ErrorCode.INVALID_REQUEST


def test_a_producer_that_names_itself_gets_the_next_epoch_once(world):
    first = world.initialize()
    expected = {"producer_id": first.producer_id, "epoch": first.producer_epoch}
    assert world.initialize(**expected).producer_epoch == 1
    assert world.initialize(**expected).producer_epoch == 1, "a repeated request"
    world.initialize()
    assert world.initialize(**expected).error_code == ErrorCode.PRODUCER_FENCED
    assert world.initialize(**expected, api_version=3).error_code == ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_producer_that_did_not_name_itself_fences_the_one_before(world):
    first = world.initialize()
    world.initialize()
    fenced = world.initialize(producer_id=first.producer_id, epoch=0)
    assert fenced.error_code == ErrorCode.PRODUCER_FENCED


def test_another_producer_id_than_the_current_one_is_fenced(world):
    first = world.initialize()
    other = world.initialize(producer_id=first.producer_id + 7, epoch=0)
    assert other.error_code == ErrorCode.PRODUCER_FENCED
    unknown = world.initialize("new", producer_id=77, epoch=5)
    assert (unknown.error_code, unknown.producer_epoch) == (NONE, 0), "nothing is known of the transactional id"


def test_an_open_transaction_is_aborted_and_the_client_asks_again(world):
    first = world.initialize()
    world.produce("t", first.producer_id, 0, 0, b"lost")
    assert world.initialize().error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    assert state(world) == "CompleteAbort"
    assert world.initialize().producer_epoch == 2
    assert world.visible() == []
    assert world.produce("t", first.producer_id, 0, 1) == ErrorCode.INVALID_PRODUCER_EPOCH


def test_while_markers_are_written_the_next_one_waits(world):
    first = world.initialize()
    world.groups_error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    world.add("t", first.producer_id, 0, offsets(1))
    ended = world.end("t", first.producer_id, 0, committed=True)
    assert (ended.error_code, ended.producer_epoch) == (NONE, 1)
    assert state(world) == "PrepareCommit"
    assert world.initialize().error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    assert world.add("t", first.producer_id, 1, orders(0)) == ErrorCode.CONCURRENT_TRANSACTIONS
    assert world.add("t", first.producer_id, 1, offsets(1), only_verify=True) == ErrorCode.CONCURRENT_TRANSACTIONS
    for committed in (True, False):
        assert world.end("t", first.producer_id, 0, committed=committed).error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    world.groups_error = NONE
    world.advance(1_000)
    assert state(world) == "CompleteCommit"
    (written,) = world.offset_markers
    assert (written[0], written[1].producer.producer_epoch, written[1].committed) == (1, 1, True)


@pytest.mark.parametrize(("other_id", "epoch"), [(0, 1), (0, 7), (1, 0)])
def test_while_markers_are_written_nobody_is_fenced(world, other_id, epoch):
    """A client has the next epoch, or the next producer id, before the coordinator has it: franz-go aborts with it."""
    first = world.initialize()
    world.groups_error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    world.add("t", first.producer_id, 0, offsets(1))
    world.end("t", first.producer_id, 0, committed=True)
    pid = first.producer_id + other_id
    assert world.end("t", pid, epoch, committed=False).error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    assert world.add("t", pid, epoch, orders(0)) == ErrorCode.CONCURRENT_TRANSACTIONS
    assert world.initialize(producer_id=pid, epoch=epoch).error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    world.groups_error = NONE
    world.advance(1_000)
    assert world.end("t", first.producer_id, 1, committed=False).error_code == NONE


@pytest.mark.parametrize(
    ("other_id", "epoch", "error"),
    [
        (0, 0, ErrorCode.CONCURRENT_TRANSACTIONS),
        (0, 1, ErrorCode.PRODUCER_FENCED),
        (1, 0, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
    ],
)
def test_older_versions_of_end_look_at_the_producer_first(world, other_id, epoch, error):
    pid = world.initialize().producer_id
    world.groups_error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    world.add("t", pid, 0, offsets(1), client_version=0)
    world.end("t", pid, 0, committed=True, api_version=4)
    assert world.end("t", pid + other_id, epoch, committed=True, api_version=4).error_code == error


# ---- partitions


def test_a_partition_opens_the_transaction(world):
    first = world.initialize()
    assert world.add("t", first.producer_id, 0, orders(0)) == NONE
    described = world.describe("t")
    assert (described.transaction_state, described.transaction_start_time_ms) == ("Ongoing", world.now_ms())
    world.advance(10)
    world.add("t", first.producer_id, 0, orders(1))
    assert world.describe("t").transaction_start_time_ms == world.now_ms() - 10
    assert [topic.partitions for topic in world.describe("t").topics] == [[0, 1]]


def test_who_may_add_partitions(world):
    first = world.initialize()
    pid = first.producer_id
    assert world.add("", pid, 0, orders(0)) == ErrorCode.INVALID_REQUEST
    assert world.add("unknown", pid, 0, orders(0)) == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert world.add("t", pid + 1, 0, orders(0)) == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert [world.add("t", pid, epoch, orders(0)) for epoch in (-1, 1)] == [ErrorCode.PRODUCER_FENCED] * 2


def test_verification_adds_nothing(world):
    pid = world.initialize().producer_id
    world.add("t", pid, 0, orders(0))
    errors = world.add("t", pid, 0, orders(0), orders(1), only_verify=True)
    assert errors == {orders(0): NONE, orders(1): ErrorCode.TRANSACTION_ABORTABLE}
    assert world.transaction("t").partitions == {orders(0)}


# ---- EndTxn


@pytest.mark.parametrize("committed", [True, False])
def test_the_markers_have_the_next_epoch(world, committed):
    pid = world.initialize().producer_id
    for partition in (0, 1):
        assert world.produce("t", pid, 0, 0, b"a", partition=partition) == NONE
    ended = world.end("t", pid, 0, committed=committed)
    assert (ended.error_code, ended.producer_id, ended.producer_epoch) == (NONE, pid, 1)
    assert state(world) == ("CompleteCommit" if committed else "CompleteAbort")
    for partition in (0, 1):
        assert world.visible(partition) == ([b"a"] if committed else [])
    assert world.produce("t", pid, 0, 1) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert world.produce("t", pid, 1, 1) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert world.produce("t", pid, 1, 0) == NONE


def test_a_repeated_end_is_answered_as_the_first(world):
    pid = world.initialize().producer_id
    world.add("t", pid, 0, orders(0))
    first = world.end("t", pid, 0, committed=True)
    again = world.end("t", pid, 0, committed=True)
    assert (again.error_code, again.producer_id, again.producer_epoch) == (NONE, pid, first.producer_epoch)
    assert world.end("t", pid, 0, committed=False).error_code == ErrorCode.INVALID_TXN_STATE
    assert world.end("t", pid, 1, committed=True).error_code == ErrorCode.INVALID_TXN_STATE, "nothing is open"
    assert world.end("t", pid, 0, committed=True, api_version=4).error_code == ErrorCode.PRODUCER_FENCED


def test_an_abort_without_partitions_raises_the_epoch(world):
    pid = world.initialize().producer_id
    assert world.end("t", pid, 0, committed=True).error_code == ErrorCode.INVALID_TXN_STATE
    ended = world.end("t", pid, 0, committed=False)
    assert (ended.error_code, ended.producer_epoch) == (NONE, 1)
    assert (state(world), world.describe("t").transaction_start_time_ms) == ("CompleteAbort", world.now_ms())
    assert world.end("t", pid, 1, committed=False).producer_epoch == 2


@pytest.mark.parametrize("api_version", ZERO_TO_FOUR)
def test_older_versions_keep_the_epoch(world, api_version):
    pid = world.initialize().producer_id
    for sequence in (0, 1):
        world.add("t", pid, 0, orders(0), client_version=0)
        assert world.produce("t", pid, 0, sequence, b"%d" % sequence, api_version=9) == NONE
        ended = world.end("t", pid, 0, committed=True, api_version=api_version)
        assert ended.error_code == NONE
    assert world.visible() == [b"0", b"1"]
    assert world.transaction("t").epoch == 0
    again = [world.end("t", pid, 0, committed=each, api_version=api_version).error_code for each in (True, False)]
    assert again == [NONE, ErrorCode.INVALID_TXN_STATE]


def test_who_may_end_a_transaction(world):
    pid = world.initialize().producer_id
    world.add("t", pid, 0, orders(0))
    assert world.end("", pid, 0, committed=True).error_code == ErrorCode.INVALID_REQUEST
    assert world.end("unknown", pid, 0, committed=True).error_code == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert world.end("t", pid + 1, 0, committed=True).error_code == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    for api_version, error in ((1, ErrorCode.INVALID_PRODUCER_EPOCH), (2, ErrorCode.PRODUCER_FENCED)):
        assert world.end("t", pid, 1, committed=True, api_version=api_version).error_code == error


def test_a_producer_whose_epochs_are_used_up_gets_another_id(world):
    pid = world.initialize().producer_id
    shard = next(each for each in world.coordinator.shards if "t" in each.machine.transactions)
    shard.machine.transactions["t"] = msgspec.structs.replace(world.transaction("t"), epoch=32_766)
    world.add("t", pid, 32_766, orders(0))
    ended = world.end("t", pid, 32_766, committed=True)
    assert (ended.error_code, ended.producer_id > pid, ended.producer_epoch) == (NONE, True, 0)
    again = world.end("t", pid, 32_766, committed=True)
    assert (again.error_code, again.producer_id, again.producer_epoch) == (NONE, ended.producer_id, 0)
    assert world.transaction("t").previous_producer_id == pid
    assert world.produce("t", ended.producer_id, 0, 0) == NONE


def test_an_initialization_with_the_last_epoch_gets_another_id(world):
    pid = world.initialize().producer_id
    shard = next(each for each in world.coordinator.shards if "t" in each.machine.transactions)
    shard.machine.transactions["t"] = msgspec.structs.replace(world.transaction("t"), epoch=32_766)
    other = world.initialize(producer_id=pid, epoch=32_766)
    assert (other.producer_id > pid, other.producer_epoch) == (True, 0)
    again = world.initialize(producer_id=pid, epoch=32_766)
    assert (again.producer_id, again.producer_epoch) == (other.producer_id, 0), "a repeated request"


# ---- time


def test_a_transaction_is_aborted_after_its_timeout(world):
    pid = world.initialize(timeout_ms=5_000).producer_id
    world.produce("t", pid, 0, 0)
    world.advance(9_999)
    assert (state(world), world.coordinator.counts()) == ("Ongoing", (1, 1, 0, 0))
    world.advance(1)
    assert world.coordinator.counts() == (1, 0, 0, 1)
    assert (state(world), world.transaction("t").epoch) == ("CompleteAbort", 1)
    assert world.visible() == []
    assert world.end("t", pid, 0, committed=True).error_code == ErrorCode.INVALID_TXN_STATE
    assert world.end("t", pid, 0, committed=False).producer_epoch == 1
    assert world.initialize(producer_id=pid, epoch=0).producer_epoch == 1, "the producer goes on"


def test_a_transaction_as_old_as_its_timeout_goes_on(world):
    pid = world.initialize(timeout_ms=10_000).producer_id
    world.add("t", pid, 0, orders(0))
    world.advance(10_000)
    assert state(world) == "Ongoing"
    world.advance(10_000)
    assert state(world) == "CompleteAbort"


def test_unused_transactional_ids_are_forgotten():
    world = World({"transactional.id.expiration.ms": "3600000"})
    pid = world.initialize().producer_id
    other = world.initialize("open", timeout_ms=TIMEOUT_MS)
    world.add("open", other.producer_id, 0, orders(0))
    world.advance(3_600_000)
    assert state(world) == ""
    assert world.describe("t").error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert world.initialize().producer_id > pid
    world.restart()
    assert state(world) == "Empty"


def test_an_address_may_have_so_many_transactional_ids_until_they_expire():
    world = World({"transactional.id.expiration.ms": "3600000", "max.transactional.ids.per.ip": "2"})
    assert [world.initialize(each).error_code for each in ("a", "b", "c")] == [0, 0, ErrorCode.POLICY_VIOLATION]
    assert world.describe("c").error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert world.initialize("a").error_code == ErrorCode.NONE
    world.advance(3_600_000)
    assert [world.initialize(each).error_code for each in ("c", "d", "a")] == [0, 0, ErrorCode.POLICY_VIOLATION]


def test_transactional_ids_that_were_loaded_count_for_no_address():
    world = World({"max.transactional.ids.per.ip": "1"})
    world.initialize("a")
    world.restart()
    assert [world.initialize(each).error_code for each in ("a", "b", "c")] == [0, 0, ErrorCode.POLICY_VIOLATION]


# ---- restarts


@pytest.mark.parametrize("clean", [True, False])
def test_a_restart_keeps_what_was_answered(world, clean):
    pid = world.initialize().producer_id
    world.produce("t", pid, 0, 0, b"a")
    world.restart(clean=clean)
    assert state(world) == "Ongoing"
    assert world.log().last_stable_offset is None, "nobody has asked yet"
    assert world.fetch().last_stable_offset == 0
    assert world.produce("t", pid, 0, 1, b"b") == NONE
    world.end("t", pid, 0, committed=True)
    assert world.visible() == [b"a", b"b"]


def test_the_markers_of_a_prepared_transaction_are_written_after_a_restart(world):
    pid = world.initialize().producer_id
    world.produce("t", pid, 0, 0, b"a")
    world.groups_error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.add("t", pid, 0, offsets(3))
    world.end("t", pid, 0, committed=True)
    world.restart()
    world.groups_error = NONE
    world.advance(10_000)
    assert state(world) == "CompleteCommit"
    assert world.visible() == [b"a"]
    assert [partition for partition, _ in world.offset_markers] == [3]


def test_markers_of_an_earlier_transaction_complete_nothing(world):
    pid = world.initialize().producer_id
    world.groups_error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    world.add("t", pid, 0, offsets(1))
    world.end("t", pid, 0, committed=True)
    for completed in (Completed(pid, 0), Completed(pid + 1, 1), Completed(pid, 2)):
        world.ask(operations.COMPLETE, "t", completed)
        assert state(world) == "PrepareCommit"


def test_an_impossible_transition_breaks_an_invariant(world):
    world.initialize()
    before = world.transaction("t")
    for after in (
        msgspec.structs.replace(before, state=TransactionState.COMPLETE_COMMIT),
        msgspec.structs.replace(before, epoch=-1),
    ):
        with pytest.raises(AssertionError):
            TransactionChanged(before, after).apply({"t": before})
    with pytest.raises(AssertionError):
        TransactionChanged(None, before).apply({"t": before})


def test_a_transactional_id_that_broke_an_invariant_is_read_again_alone(world, monkeypatch):
    pid = world.initialize().producer_id
    other = world.initialize("other").producer_id
    world.add("other", other, 0, orders(0))
    shard = next(each for each in world.coordinator.shards if "t" in each.machine.transactions)
    apply = shard.machine.apply
    monkeypatch.setattr(shard.machine, "apply", _raising)
    assert world.add("t", pid, 0, orders(0)) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    monkeypatch.setattr(shard.machine, "apply", apply)
    assert world.add("t", pid, 0, orders(0)) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert world.end("other", other, 0, committed=True).error_code == NONE
    world.advance(1_000)
    assert world.add("t", pid, 0, orders(0)) == NONE


def _raising(*arguments: object) -> None:
    raise AssertionError("an invariant")


def test_a_log_that_cannot_be_written_is_no_answer_and_no_commit(world):
    pid = world.initialize().producer_id
    world.produce("t", pid, 0, 0, b"a")
    world.fs.is_full = True
    assert world.end("t", pid, 0, committed=True).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.fs.heal()
    world.advance(1_000)
    assert state(world) == "Ongoing"
    assert world.end("t", pid, 0, committed=True).error_code == NONE
    assert world.visible() == [b"a"]


def test_a_marker_that_cannot_be_written_is_written_later(world):
    pid = world.initialize().producer_id
    world.produce("t", pid, 0, 0, b"a")
    log = world.log()
    append, log.append_prebuilt = log.append_prebuilt, _failing
    world.end("t", pid, 0, committed=True)
    assert (state(world), world.visible()) == ("PrepareCommit", [])
    log.append_prebuilt = append
    world.advance(1_000)
    assert (state(world), world.visible()) == ("CompleteCommit", [b"a"])


def _failing(*arguments: object) -> None:
    raise OSError("no space")


def test_markers_that_fail_again_and_again_are_written_less_and_less_often(world):
    pid = world.initialize().producer_id
    world.groups_error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    world.add("t", pid, 0, offsets(1), offsets(2))
    tries = []
    complete = world.markers._complete_offsets

    def counted(*arguments):
        tries.append(world.now_ms())
        complete(*arguments)

    world.markers._complete_offsets = counted
    world.end("t", pid, 0, committed=True)
    world.advance(60_000)
    waits = [later - earlier for earlier, later in zip(tries[::2], tries[2::2], strict=False)]
    assert waits == [100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000, 10_000, 10_000]


def test_every_state_has_kafkas_name():
    assert [transaction_state.kafka_name for transaction_state in TransactionState] == [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    ]


# ---- transactions that might never end


def set_epoch(world: World, epoch: int) -> None:
    shard = next(each for each in world.coordinator.shards if "t" in each.machine.transactions)
    shard.machine.transactions["t"] = msgspec.structs.replace(world.transaction("t"), epoch=epoch)


@pytest.mark.parametrize("api_version", [3, 5])
def test_the_last_epoch_is_the_markers_and_no_producers(world, api_version):
    pid = world.initialize().producer_id
    set_epoch(world, 32_767)
    assert world.add("t", pid, 32_767, orders(0)) == ErrorCode.PRODUCER_FENCED
    for committed in (True, False):
        ended = world.end("t", pid, 32_767, committed=committed, api_version=api_version)
        assert ended.error_code == ErrorCode.PRODUCER_FENCED


def test_the_epoch_of_a_timed_out_last_transaction_is_taken_from_nobody(world):
    pid = world.initialize().producer_id
    set_epoch(world, 32_766)
    assert world.produce("t", pid, 32_766, 0, b"lost") == NONE
    world.advance(2 * TIMEOUT_MS)
    assert (world.transaction("t").epoch, state(world)) == (32_767, "CompleteAbort")
    assert world.produce("t", pid, 32_767, 0) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert world.initialize(producer_id=pid, epoch=32_766).producer_id != pid
    assert world.visible() == []
    assert world.log().last_stable_offset == world.log().log_end_offset


def test_a_transaction_of_the_last_epoch_from_an_earlier_version_ends(world):
    pid = world.initialize().producer_id
    set_epoch(world, 32_766)
    assert world.produce("t", pid, 32_766, 0, b"lost") == NONE
    set_epoch(world, 32_767)
    batch_of_last_epoch = world.produce("t", pid, 32_767, 0, b"more")
    assert batch_of_last_epoch == ErrorCode.INVALID_PRODUCER_EPOCH
    world.advance(2 * TIMEOUT_MS)
    assert state(world) == "CompleteAbort"
    assert world.log().last_stable_offset == world.log().log_end_offset


def test_a_transaction_that_can_be_stored_can_be_ended():
    """Its record, one byte below the limit, has room for what the record of its end has more."""
    world = World({"message.max.bytes": "2000", "transaction.state.log.segment.bytes": "1048576"})
    shard_max = 1_900

    def fill(transactional_id: str, epoch: int) -> int:
        """Add partitions until no more is accepted; how many were."""
        pid = world.initialize(transactional_id).producer_id
        for shard in world.coordinator.shards:
            log = world.broker.partitions.get(TRANSACTIONS_TOPIC, shard.partition)
            log.configure(replace(log.config, max_message_bytes=shard_max))
            if transactional_id in shard.machine.transactions:
                known = shard.machine.transactions[transactional_id]
                shard.machine.transactions[transactional_id] = msgspec.structs.replace(known, epoch=epoch)
        for number in range(1_000):
            tp = TopicPartition("orders", number)
            if world.add(transactional_id, pid, epoch, tp) != NONE:
                ended = world.end(transactional_id, pid, epoch, committed=False)
                assert ended.error_code == NONE
                return number
        raise AssertionError("there is no limit")

    # Names of all lengths, so that the last record is at each distance from the limit.
    for padding in range(8):
        for epoch in (0, 32_766):
            assert fill("x" * (100 + padding) + str(epoch), epoch) > 300


def test_a_transaction_that_began_in_the_future_times_out(world):
    pid = world.initialize().producer_id
    world.produce("t", pid, 0, 0, b"lost")
    shard = next(each for each in world.coordinator.shards if "t" in each.machine.transactions)
    ahead_ms = world.now_ms() + 365 * 24 * 3600 * 1000
    shard.machine.transactions["t"] = msgspec.structs.replace(world.transaction("t"), started_ms=ahead_ms)
    world.advance(20_000)
    assert state(world) == "Ongoing"
    assert world.transaction("t").started_ms <= world.now_ms(), "its timeout counts from now on"
    world.restart()
    world.advance(TIMEOUT_MS)
    assert state(world) == "CompleteAbort"
    assert world.visible() == []


@pytest.mark.parametrize(("length", "error"), [(1_024, NONE), (1_025, ErrorCode.INVALID_REQUEST)])
def test_a_transactional_id_has_so_many_characters_at_most(world, length, error):
    assert world.initialize("é" * length).error_code == error


def test_adding_no_partitions_opens_a_transaction_as_on_kafka(world):
    pid = world.initialize().producer_id
    assert world.add("t", pid, 0) == {}
    assert state(world) == "Ongoing"
    assert world.end("t", pid, 0, committed=True, api_version=3).error_code == NONE
    assert state(world) == "CompleteCommit"
