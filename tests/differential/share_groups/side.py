"""A server that a history of a share group is played on."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages import (
    alter_share_group_offsets,
    delete_share_group_offsets,
    share_acknowledge,
    share_fetch,
)
from _wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from _wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from _wire.messages.delete_groups import DeleteGroupsRequest
from _wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from _wire.messages.end_txn import EndTxnRequest
from _wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from _wire.messages.init_producer_id import InitProducerIdRequest
from _wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from _wire.records import batch_headers, build_batch
from tests.differential.share_groups.state import ServerState
from tests.differential.share_groups.steps import Step, place_of, place_text
from tests.wire_client import WireClient, produce_request

GROUP_RESOURCE: Final = 32
BACKGROUND_SECONDS: Final = 0.08
"""For what a server does after its answer: it is not seen when that is done, only that nothing has changed."""
NO_ID: Final = b"\1" * 16


class ShareSide:
    """One server, with group, topics and connections of one history."""

    def __init__(self, bootstrap: str, prefix: str) -> None:
        self._bootstrap = bootstrap
        self._prefix = prefix
        self.group_id = f"{prefix}g"
        self._admin = WireClient(bootstrap)
        self._members: dict[str, WireClient] = {}
        self._topic_ids: dict[str, bytes] = {}
        self._partitions: dict[str, int] = {}
        self._producer: tuple[int, int] = (-1, -1)
        self._sequences: dict[str, int] = {}

    def close(self) -> None:
        for client in (self._admin, *self._members.values()):
            client.socket.close()

    def take(self, step: Step) -> Any:
        """The answer to a step, in the words of the history."""
        return getattr(self, step.kind)(**step.arguments)

    def state(self) -> dict[str, Any]:
        return ServerState(self._admin, self.group_id, self._prefix, self._topic_ids, self._partitions).told()

    # ---- members

    def heartbeat(self, member: str, epoch: int, names: list[str] | None) -> Any:
        topics = None if names is None else [f"{self._prefix}{name}" for name in names]
        request = ShareGroupHeartbeatRequest(
            group_id=self.group_id, member_id=member, member_epoch=epoch, subscribed_topic_names=topics
        )
        answer = self._of(member).request(request, 1)
        time.sleep(BACKGROUND_SECONDS)
        assignment = answer.assignment and sum(len(topic.partitions) for topic in answer.assignment.topic_partitions)
        return {
            "error": answer.error_code,
            "epoch": answer.member_epoch,
            "interval": answer.heartbeat_interval_ms,
            "assignment": assignment,
        }

    def fetch(
        self,
        member: str,
        epoch: int,
        adds: Mapping[str, Sequence[Any]],
        forgets: Sequence[str] = (),
        **terms: Any,
    ) -> Any:
        """`adds` has the acknowledgement batches of each place that the request names."""
        module = share_fetch
        topics = [
            module.FetchTopic(
                topic_id=self._id(topic),
                partitions=[
                    module.FetchPartition(partition_index=index, acknowledgement_batches=_batches(module, batches))
                ],
            )
            for (topic, index), batches in ((place_of(place), batches) for place, batches in adds.items())
        ]
        forgotten = [
            module.ForgottenTopic(topic_id=self._id(topic), partitions=[index])
            for topic, index in map(place_of, forgets)
        ]
        request = module.ShareFetchRequest(
            group_id=self.group_id,
            member_id=member,
            share_session_epoch=epoch,
            topics=topics,
            forgotten_topics_data=forgotten,
            **terms,
        )
        answer = self._of(member).request(request, 2)
        if epoch == -1:
            time.sleep(BACKGROUND_SECONDS)
        return self._shared(answer) | {"lock_ms": answer.acquisition_lock_timeout_ms}

    def acknowledge(
        self, member: str, epoch: int, batches: Mapping[str, Sequence[Any]], version: int = 2, renews: bool = False
    ) -> Any:
        module = share_acknowledge
        topics = [
            module.AcknowledgeTopic(
                topic_id=self._id(topic),
                partitions=[
                    module.AcknowledgePartition(partition_index=index, acknowledgement_batches=_batches(module, each))
                ],
            )
            for (topic, index), each in ((place_of(place), each) for place, each in batches.items())
        ]
        request = module.ShareAcknowledgeRequest(
            group_id=self.group_id, member_id=member, share_session_epoch=epoch, is_renew_ack=renews, topics=topics
        )
        answer = self._of(member).request(request, version)
        if epoch == -1:
            time.sleep(BACKGROUND_SECONDS)
        return self._shared(answer) | {"lock_ms": answer.acquisition_lock_timeout_ms}

    def disconnect(self, member: str) -> None:
        if member in self._members:
            self._members.pop(member).socket.close()
            time.sleep(2 * BACKGROUND_SECONDS)

    def _shared(self, answer: Any) -> dict[str, Any]:
        names = {topic_id: name for name, topic_id in self._topic_ids.items()}
        places = {}
        for topic in answer.responses:
            for each in topic.partitions:
                told: dict[str, Any] = {"error": each.error_code, "has_leader": each.current_leader.leader_id > 0}
                if isinstance(each, share_fetch.PartitionData):
                    told["acknowledged"] = each.acknowledge_error_code
                    told["acquired"] = [
                        [one.first_offset, one.last_offset, one.delivery_count] for one in each.acquired_records
                    ]
                    told["batches"] = [[one.base_offset, one.last_offset] for one in batch_headers(each.records or b"")]
                places[place_text((names.get(topic.topic_id, "?"), each.partition_index))] = told
        return {"error": answer.error_code, "has_nodes": bool(answer.node_endpoints), "places": places}

    def _of(self, member: str) -> WireClient:
        if member not in self._members:
            self._members[member] = WireClient(self._bootstrap, member)
        return self._members[member]

    def _id(self, topic: str) -> bytes:
        return self._topic_ids.get(topic, NO_ID)

    # ---- records

    def produce(self, place: str, sizes: list[int], transactional: bool = False) -> Any:
        """A request for each batch; in a transaction, the batches of one producer."""
        topic, index = place_of(place)
        errors = []
        for size in sizes:
            fields: dict[str, Any] = {}
            if transactional:
                self._join_transaction(topic, index)
                sequence = self._sequences.get(place, 0)
                self._sequences[place] = sequence + size
                fields = {
                    "producer_id": self._producer[0],
                    "producer_epoch": self._producer[1],
                    "base_sequence": sequence,
                    "is_transactional": True,
                }
            now_ms = int(time.time() * 1000)
            data = build_batch([(None, b"v", ())] * size, timestamp_ms=now_ms, **fields)
            request = produce_request(self._prefix + topic, data, partition=index)
            if transactional:
                request.transactional_id = self.group_id
            answer = self._admin.request(request, 9).responses[0].partition_responses[0]
            errors.append([answer.error_code, answer.base_offset])
        return errors

    def _join_transaction(self, topic: str, index: int) -> None:
        if self._producer == (-1, -1):
            begun = self._admin.request(
                InitProducerIdRequest(transactional_id=self.group_id, transaction_timeout_ms=60_000), 4
            )
            assert begun.error_code == 0, begun
            self._producer = begun.producer_id, begun.producer_epoch
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.group_id,
            v3_and_below_producer_id=self._producer[0],
            v3_and_below_producer_epoch=self._producer[1],
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=self._prefix + topic, partitions=[index])],
        )
        while True:  # the markers of the transaction before are still being written
            (told,) = self._admin.request(request, 3).results_by_topic_v3_and_below
            (result,) = told.results_by_partition
            if result.partition_error_code != ErrorCode.CONCURRENT_TRANSACTIONS:
                return
            time.sleep(BACKGROUND_SECONDS / 4)

    def end_transaction(self, commits: bool) -> Any:
        request = EndTxnRequest(
            transactional_id=self.group_id,
            producer_id=self._producer[0],
            producer_epoch=self._producer[1],
            committed=commits,
        )
        error = self._admin.request(request, 3).error_code
        time.sleep(2 * BACKGROUND_SECONDS)
        return error

    def delete_records(self, place: str, offset: int) -> Any:
        topic, index = place_of(place)
        partition = DeleteRecordsPartition(partition_index=index, offset=offset)
        topics = [DeleteRecordsTopic(name=self._prefix + topic, partitions=[partition])]
        answer = self._admin.request(DeleteRecordsRequest(topics=topics, timeout_ms=5_000), 2)
        told = answer.topics[0].partitions[0]
        return [told.error_code, told.low_watermark]

    # ---- administrators

    def change_topic(self, topic: str, partitions: int) -> None:
        """Make it, make it grow, or delete it (0)."""
        name = self._prefix + topic
        if not partitions:
            self._admin.delete_topic(name)
            del self._topic_ids[topic], self._partitions[topic]
        elif topic in self._topic_ids:
            grown = [CreatePartitionsTopic(name=name, count=partitions, assignments=None)]
            (result,) = self._admin.request(CreatePartitionsRequest(topics=grown, timeout_ms=5_000), 3).results
            assert result.error_code == 0, result
        else:
            self._topic_ids[topic] = self._admin.create_topic(name, partitions)
        if partitions:
            self._partitions[topic] = partitions
        time.sleep(4 * BACKGROUND_SECONDS)

    def configure(self, name: str, value: str) -> Any:
        config = AlterableConfig(name=name, config_operation=0, value=value)
        resource = AlterConfigsResource(resource_type=GROUP_RESOURCE, resource_name=self.group_id, configs=[config])
        (told,) = self._admin.request(IncrementalAlterConfigsRequest(resources=[resource]), 1).responses
        time.sleep(2 * BACKGROUND_SECONDS)
        return told.error_code

    def alter_offset(self, place: str, offset: int) -> Any:
        module = alter_share_group_offsets
        topic, index = place_of(place)
        partition = module.RequestPartition(partition_index=index, start_offset=offset)
        topics = [module.RequestTopic(topic_name=self._prefix + topic, partitions=[partition])]
        request = module.AlterShareGroupOffsetsRequest(group_id=self.group_id, topics=topics)
        answer = self._admin.request(request, 0)
        return [answer.error_code, [[each.error_code for each in one.partitions] for one in answer.responses]]

    def delete_offsets(self, topic: str) -> Any:
        module = delete_share_group_offsets
        topics = [module.RequestTopic(topic_name=self._prefix + topic)]
        answer = self._admin.request(module.DeleteShareGroupOffsetsRequest(group_id=self.group_id, topics=topics), 0)
        return [answer.error_code, [each.error_code for each in answer.responses]]

    def delete_group(self) -> Any:
        (told,) = self._admin.request(DeleteGroupsRequest(groups_names=[self.group_id]), 2).results
        return told.error_code

    def wait(self, ms: int) -> None:
        time.sleep(ms / 1000)


def _batches(module: Any, batches: Sequence[Any]) -> list[Any]:
    return [
        module.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=types)
        for first, last, types in batches
    ]
