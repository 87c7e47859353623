package main

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

var (
	recordValue = make([]byte, 100)
	castagnoli  = crc32.MakeTable(crc32.Castagnoli)
)

// recordBatch is a batch of format 2 with so many records.
func recordBatch(records int) []byte {
	now := time.Now().UnixMilli()
	var encoded []byte
	for i := range records {
		record := kmsg.Record{OffsetDelta: int32(i), Value: recordValue}
		body := record.AppendTo(nil)
		_, used := binary.Varint(body)
		record.Length = int32(len(body) - used)
		encoded = record.AppendTo(encoded)
	}
	batch := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, LastOffsetDelta: int32(records - 1), FirstTimestamp: now, MaxTimestamp: now,
		ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, NumRecords: int32(records), Records: encoded,
	}
	const beforeLength, beforeChecked = 12, 21
	raw := batch.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[beforeLength-4:], uint32(len(raw)-beforeLength))
	binary.BigEndian.PutUint32(raw[beforeChecked-4:], crc32.Checksum(raw[beforeChecked:], castagnoli))
	return raw
}

// fillTopic makes each partition of the topic have so many batches of 100 records.
func fillTopic(o *options, t *target, batches int) error {
	c, err := dial(o.bootstrap)
	if err != nil {
		return err
	}
	defer c.close()
	batch := recordBatch(recordsPerFetch)
	for partition := range int32(o.partitions) {
		var end int64
		for deadline := time.Now().Add(t.patience()); ; time.Sleep(20 * time.Millisecond) {
			if end, err = endOf(c, t, o.topic, partition); err == nil {
				break
			}
			if time.Now().After(deadline) { // Kafka's broker lists a partition before it leads it
				return err
			}
		}
		for range batches - int(end/recordsPerFetch) {
			if err := produce(c, t, o.topic, partition, batch); err != nil {
				return err
			}
		}
	}
	return nil
}

func endOf(c *conn, t *target, topic string, partition int32) (int64, error) {
	r := kmsg.NewPtrListOffsetsRequest()
	r.Version = t.version(keyListOffsets)
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp = partition, -1
	x := kmsg.NewListOffsetsRequestTopic()
	x.Topic, x.Partitions = topic, []kmsg.ListOffsetsRequestTopicPartition{p}
	r.ReplicaID, r.Topics = -1, []kmsg.ListOffsetsRequestTopic{x}
	got, err := c.send(r).wait(10 * time.Second)
	if err != nil {
		return 0, err
	}
	answer := got.(*kmsg.ListOffsetsResponse)
	if len(answer.Topics) != 1 || len(answer.Topics[0].Partitions) != 1 {
		return 0, fmt.Errorf("ListOffsets of %s: nonsense answer", topic)
	}
	found := answer.Topics[0].Partitions[0]
	if found.ErrorCode != 0 {
		return 0, fmt.Errorf("ListOffsets of %s: error %d", topic, found.ErrorCode)
	}
	return found.Offset, nil
}

func produce(c *conn, t *target, topic string, partition int32, records []byte) error {
	r := kmsg.NewPtrProduceRequest()
	r.Version = t.version(keyProduce)
	r.Acks, r.TimeoutMillis = -1, 10000
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, records
	x := kmsg.NewProduceRequestTopic()
	x.Topic, x.Partitions = topic, []kmsg.ProduceRequestTopicPartition{p}
	r.Topics = []kmsg.ProduceRequestTopic{x}
	got, err := c.send(r).wait(10 * time.Second)
	if err != nil {
		return err
	}
	for _, answered := range got.(*kmsg.ProduceResponse).Topics {
		for _, each := range answered.Partitions {
			if each.ErrorCode != 0 {
				return fmt.Errorf("Produce to %s: error %d", topic, each.ErrorCode)
			}
		}
	}
	return nil
}
