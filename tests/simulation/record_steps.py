"""Steps of transactions and of the data path: producers, zombies, readers, and administrators of topics."""

from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from _wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from _wire.messages.delete_topics import DeleteTopicsRequest
from _wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from _wire.messages.list_transactions import ListTransactionsRequest
from _wire.messages.write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest
from coordinator.core.topic_partition import TopicPartition
from tests.simulation.calls import Ask
from tests.simulation.clients import Client
from tests.simulation.consumers import OUTPUT, SPARE
from tests.simulation.producers import INPUTS
from tests.simulation.readers import FETCH_VERSION, READ_COMMITTED, fetch_request, read_partition
from tests.simulation.record_traffic import RecordTraffic

CHECKED: Final = (*INPUTS, TopicPartition(OUTPUT, 0), TopicPartition(OUTPUT, 1))
"""Partitions whose records are never all deleted."""
LONG_READ_MS: Final = 2_000


class RecordSteps(RecordTraffic):
    """Each public method of a client and a `value` is a kind of step."""

    # ---- producers

    def transact(self, client: Client, value: int) -> None:
        """The producer of the client goes on with its transaction, or with the next one."""
        client.read_answers()
        self.program(client).step(value)

    def produce(self, client: Client, value: int) -> None:
        """A producer without transactions goes on; the last digit of `value` says how, unless it waits."""
        self.producers[self.clients.index(client) % len(self.producers)].step(value)

    def zombie(self, client: Client, value: int) -> None:
        """Another process takes the place of the client's producer, which goes on; the next time, the old one does."""
        if client.name in self.zombies:
            self.zombies[client.name].step(value)
        elif client.name in self.transactional:
            self.zombies[client.name] = self.transactional.pop(client.name)
            self.transact(client, value)

    def give_up(self, client: Client, value: int) -> None:
        """A producer does not wait any longer for its response (0), or sends its request again meanwhile (1)."""
        for program in (self.program(client), self.producers[self.clients.index(client) % len(self.producers)]):
            if value:
                program.repeat()
            else:
                program.stop_waiting()

    # ---- readers

    def read(self, client: Client, value: int) -> None:
        """All records of a partition, committed (even) or not: none is missing, and none is there too early."""
        if self.server.is_batching or self.disk_is_faulty:
            return
        tp, isolation_level = CHECKED[value // 2 % len(CHECKED)], READ_COMMITTED - value % 2
        records = read_partition(self, tp, isolation_level)
        self.acknowledged.check_read(tp, records, is_committed=isolation_level == READ_COMMITTED)
        self.seen["records that were read"] += len(records)

    def read_later(self, client: Client, value: int) -> None:
        """A Fetch that waits at the end of a partition for records, for two seconds at most."""
        if self.disk_is_faulty:
            return
        tp = CHECKED[value % len(CHECKED)]
        end = self.log(tp).log_end_offset
        self.waiting_reads = [waiting_read for waiting_read in self.waiting_reads if waiting_read.response is None]
        self.waiting_reads.append(
            self.call(Ask(fetch_request(tp, end, value % 2, max_wait_ms=LONG_READ_MS), FETCH_VERSION), "reader")
        )

    # ---- administrators

    def delete_records(self, client: Client, value: int) -> None:
        """Of an input partition, up to a part of its length."""
        if self.disk_is_faulty:
            return
        tp = INPUTS[value % len(INPUTS)]
        log = self.log(tp)
        length = log.high_watermark - log.log_start_offset
        offset = log.log_start_offset + length * (value // 8 % 4) // 4
        self.acknowledged.records_deleted(tp, offset)
        partitions = [DeleteRecordsPartition(partition_index=tp.partition, offset=offset)]
        topics = [DeleteRecordsTopic(name=tp.topic, partitions=partitions)]
        self._ask(DeleteRecordsRequest(topics=topics, timeout_ms=1_000), 2, "DeleteRecords")

    def delete_topic(self, client: Client, value: int) -> None:
        """The spare topic is deleted, or created again."""
        message: Any = DeleteTopicsRequest(topic_names=[SPARE], timeout_ms=1_000)
        version = 5
        if not self.has_spare_topic:
            topics = [CreatableTopic(name=SPARE, num_partitions=2, replication_factor=1)]
            message, version = CreateTopicsRequest(topics=topics, timeout_ms=1_000), 6
        self._ask(message, version, "topic")

    @property
    def has_spare_topic(self) -> bool:
        return SPARE in self.server.node.storage.image.topics

    def inspect(self, client: Client, value: int) -> None:
        """What administrators are shown of transactions is what their producers know."""
        if self.server.is_batching or self.disk_is_faulty or self.acknowledged.was_lost:
            return
        self.server.loop.turn_until_idle()
        listed = self._ask(ListTransactionsRequest(), 0, "ListTransactions")
        open_ones = self.acknowledged.open_at(self.server.now_ms)
        if listed is not None and listed.error_code == ErrorCode.NONE:
            ongoing = {
                transaction_state.transactional_id
                for transaction_state in listed.transaction_states
                if transaction_state.transaction_state == "Ongoing"
            }
            expected = {one.transactional_id for one in open_ones if one.first_offsets}
            assert expected <= ongoing, f"not listed as ongoing: {expected - ongoing}"
        tp = CHECKED[value % len(CHECKED)]
        topics = [TopicRequest(name=tp.topic, partition_indexes=[tp.partition])]
        described = self._ask(DescribeProducersRequest(topics=topics), 0, "DescribeProducers")
        if described is not None:
            ((partition,),) = (topic.partitions for topic in described.topics)
            begins = {
                active_producer.producer_id: active_producer.current_txn_start_offset
                for active_producer in partition.active_producers
            }
            for one in open_ones:
                if tp in one.first_offsets and partition.error_code == ErrorCode.NONE:
                    assert begins[one.producer_id] == one.first_offsets[tp], (tp, begins, one)

    def forge_marker(self, client: Client, value: int) -> None:
        """Nobody but the coordinator ends transactions (`write.txn.markers.enable`)."""
        program = self.program(client)
        topics = [WritableTxnMarkerTopic(name=OUTPUT, partition_indexes=[value % 2])]
        marker = WritableTxnMarker(
            producer_id=program.producer_id,
            producer_epoch=program.epoch,
            transaction_result=value % 2 == 0,
            topics=topics,
        )
        response = self._ask(WriteTxnMarkersRequest(markers=[marker]), 1, "WriteTxnMarkers")
        if response is not None:
            ((result,),) = (topic.partitions for each in response.markers for topic in each.topics)
            assert result.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED, result

    def _ask(self, message: Any, version: int, name: str) -> Any:
        """The response, if it comes with this step."""
        response = self.call(Ask(message, version), "admin").response
        self.seen[f"asked {name}"] += 1
        return response
