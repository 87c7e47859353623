// The driver of segmentio/kafka-go, with its ConsumerGroup, which tells the assignment.
package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
	"interop/contract"
)

var assignors = map[string]kafka.GroupBalancer{
	"range":      kafka.RangeGroupBalancer{},
	"roundrobin": kafka.RoundRobinGroupBalancer{},
}

type member struct {
	settings kafka.ConsumerGroupConfig
	report   *contract.Report
	paused   atomic.Bool

	mutex      sync.Mutex
	group      *kafka.ConsumerGroup
	generation *kafka.Generation
	ended      chan struct{}
}

func open(options contract.Command, report *contract.Report) (contract.Consumer, error) {
	clientID := options.ClientID
	if clientID == "" {
		clientID = options.Member
	}
	if options.Assignors == nil {
		options.Assignors = []string{"range"}
	}
	var balancers []kafka.GroupBalancer
	for _, name := range options.Assignors {
		balancers = append(balancers, assignors[name])
	}
	dialer := &kafka.Dialer{ClientID: clientID, Timeout: 5 * time.Second, DualStack: true}
	if err := secure(dialer, options.Security); err != nil {
		return nil, err
	}
	m := &member{report: report, settings: kafka.ConsumerGroupConfig{
		ID:                     options.Group,
		Brokers:                []string{options.Bootstrap},
		Dialer:                 dialer,
		Topics:                 options.Topics,
		GroupBalancers:         balancers,
		HeartbeatInterval:      contract.Ms(options.HeartbeatIntervalMs, 500),
		SessionTimeout:         contract.Ms(options.SessionTimeoutMs, 10_000),
		RebalanceTimeout:       min(contract.Ms(options.MaxPollIntervalMs, 30_000), 30*time.Second),
		WatchPartitionChanges:  options.MetadataMaxAgeMs != 0,
		PartitionWatchInterval: contract.Ms(options.MetadataMaxAgeMs, 5_000),
		JoinGroupBackoff:       200 * time.Millisecond,
		StartOffset:            kafka.FirstOffset,
	}}
	return m, m.begin()
}

func secure(dialer *kafka.Dialer, security contract.Security) (err error) {
	if security.Protocol == "" {
		return nil
	}
	if dialer.TLS, err = security.TLS(); err != nil {
		return err
	}
	switch security.Mechanism {
	case "PLAIN":
		dialer.SASLMechanism = plain.Mechanism{Username: security.Username, Password: security.Password}
	case "SCRAM-SHA-256":
		dialer.SASLMechanism, err = scram.Mechanism(scram.SHA256, security.Username, security.Password)
	case "SCRAM-SHA-512":
		dialer.SASLMechanism, err = scram.Mechanism(scram.SHA512, security.Username, security.Password)
	case "OAUTHBEARER":
		dialer.SASLMechanism = bearer(security.Token)
	}
	return err
}

func (m *member) begin() error {
	group, err := kafka.NewConsumerGroup(m.settings)
	if err != nil {
		return err
	}
	m.group, m.ended = group, make(chan struct{})
	go m.follow(group, m.ended)
	return nil
}

func (m *member) follow(group *kafka.ConsumerGroup, ended chan struct{}) {
	defer close(ended)
	for {
		generation, err := group.Next(context.Background())
		if errors.Is(err, kafka.ErrGroupClosed) {
			return
		}
		if err != nil {
			m.report.Failed("poll", err, false)
			continue
		}
		m.take(generation)
	}
}

func (m *member) take(generation *kafka.Generation) {
	m.mutex.Lock()
	m.generation = generation
	m.mutex.Unlock()
	owned := map[string][]int32{}
	for topic, assignments := range generation.Assignments {
		for _, each := range assignments {
			owned[topic] = append(owned[topic], int32(each.ID))
		}
	}
	m.report.Partitions("assigned", owned)
	generation.Start(func(ctx context.Context) {
		var readers sync.WaitGroup
		for topic, assignments := range generation.Assignments {
			for _, each := range assignments {
				readers.Add(1)
				go func() {
					defer readers.Done()
					m.read(ctx, topic, each)
				}()
			}
		}
		<-ctx.Done()
		readers.Wait()
		m.report.Partitions("revoked", owned)
	})
}

func (m *member) read(ctx context.Context, topic string, assignment kafka.PartitionAssignment) {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: m.settings.Brokers, Dialer: m.settings.Dialer, Topic: topic, Partition: assignment.ID,
		MinBytes: 1, MaxBytes: 1 << 20, MaxWait: 200 * time.Millisecond,
		ReadBackoffMin: 50 * time.Millisecond, ReadBackoffMax: 200 * time.Millisecond,
	})
	defer reader.Close()
	if err := reader.SetOffset(assignment.Offset); err != nil {
		m.report.Failed("poll", err, false)
		return
	}
	for ctx.Err() == nil {
		if m.paused.Load() {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		message, err := reader.ReadMessage(ctx)
		if err != nil {
			if ctx.Err() == nil {
				m.report.Failed("poll", err, false)
				time.Sleep(100 * time.Millisecond)
			}
			continue
		}
		m.report.Records(topic, int32(assignment.ID), message.Offset, message.Offset+1, 1)
	}
}

func (m *member) Subscribe(topics []string) error {
	if err := m.Close(); err != nil {
		return err
	}
	m.settings.Topics = topics
	return m.begin()
}

func (m *member) Commit() (contract.Positions, error) {
	m.mutex.Lock()
	generation := m.generation
	m.mutex.Unlock()
	if generation == nil {
		return nil, errors.New("it has joined no group yet")
	}
	positions := m.report.Read()
	offsets := map[string]map[int]int64{}
	for topic, partitions := range positions {
		offsets[topic] = map[int]int64{}
		for partition, offset := range partitions {
			offsets[topic][int(partition)] = offset
		}
	}
	return positions, generation.CommitOffsets(offsets)
}

func (m *member) Pause(paused bool) { m.paused.Store(paused) }

func (m *member) Close() error {
	err := m.group.Close()
	<-m.ended
	return err
}

func main() {
	can := []string{"range", "roundrobin", "subscribe"}
	can = append(can, "ssl", "ssl-client-auth", "plain", "scram-sha-256", "scram-sha-512", "oauthbearer")
	contract.Run("kafka-go", contract.Version("github.com/segmentio/kafka-go"), can, open)
}
