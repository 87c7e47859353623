// The driver of sarama.
package main

import (
	"context"
	"errors"
	"log"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/IBM/sarama"
	"interop/contract"
)

var assignors = map[string]func() sarama.BalanceStrategy{
	"range":      sarama.NewBalanceStrategyRange,
	"roundrobin": sarama.NewBalanceStrategyRoundRobin,
	"sticky":     sarama.NewBalanceStrategySticky,
}

// How long an error of a commit takes from the library's channel to here.
const errorDelay = 100 * time.Millisecond

type member struct {
	group  sarama.ConsumerGroup
	report *contract.Report
	ended  chan struct{}

	mutex     sync.Mutex
	changed   *sync.Cond
	paused    bool
	closing   bool
	topics    []string
	stop      context.CancelFunc
	session   sarama.ConsumerGroupSession
	claims    map[string][]int32 // those that were told when the session began
	inCommit  bool
	commitErr error
}

func open(options contract.Command, report *contract.Report) (contract.Consumer, error) {
	settings := sarama.NewConfig()
	settings.Version = sarama.V3_6_0_0
	settings.ClientID = options.ClientID
	if settings.ClientID == "" {
		settings.ClientID = options.Member
	}
	group := &settings.Consumer.Group
	group.Session.Timeout = contract.Ms(options.SessionTimeoutMs, 10_000)
	group.Heartbeat.Interval = contract.Ms(options.HeartbeatIntervalMs, 500)
	group.Rebalance.Timeout = contract.Ms(options.MaxPollIntervalMs, 300_000)
	group.Rebalance.Retry.Backoff = 100 * time.Millisecond
	group.InstanceId = options.InstanceID
	if options.Assignors == nil {
		options.Assignors = []string{"range"}
	}
	group.Rebalance.GroupStrategies = nil
	for _, name := range options.Assignors {
		group.Rebalance.GroupStrategies = append(group.Rebalance.GroupStrategies, assignors[name]())
	}
	settings.Consumer.Offsets.Initial = sarama.OffsetOldest
	settings.Consumer.Offsets.AutoCommit.Enable = false
	settings.Consumer.Return.Errors = true
	settings.Metadata.RefreshFrequency = contract.Ms(options.MetadataMaxAgeMs, 300_000)
	settings.Metadata.Retry.Max = 100
	settings.Metadata.Retry.Backoff = 100 * time.Millisecond
	if err := secure(settings, options.Security); err != nil {
		return nil, err
	}
	made, err := sarama.NewConsumerGroup([]string{options.Bootstrap}, options.Group, settings)
	if err != nil {
		return nil, err
	}
	m := &member{group: made, report: report, topics: options.Topics, ended: make(chan struct{})}
	m.changed = sync.NewCond(&m.mutex)
	go m.errors()
	go m.consume()
	return m, nil
}

type tokenProvider string

func (t tokenProvider) Token() (*sarama.AccessToken, error) {
	return &sarama.AccessToken{Token: string(t)}, nil
}

func secure(settings *sarama.Config, security contract.Security) error {
	if security.Protocol == "" {
		return nil
	}
	config, err := security.TLS()
	if err != nil {
		return err
	}
	settings.Net.TLS.Enable, settings.Net.TLS.Config = true, config
	if security.Mechanism != "" {
		settings.Net.SASL.Enable = true
		settings.Net.SASL.Mechanism = sarama.SASLMechanism(security.Mechanism)
		settings.Net.SASL.User, settings.Net.SASL.Password = security.Username, security.Password
		settings.Net.SASL.TokenProvider = tokenProvider(security.Token)
		settings.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient {
			return &scramClient{hash: scramHashes[security.Mechanism]}
		}
	}
	return nil
}

func (m *member) errors() {
	for err := range m.group.Errors() {
		m.mutex.Lock()
		inCommit := m.inCommit
		if inCommit {
			m.commitErr = err
		}
		m.mutex.Unlock()
		if !inCommit {
			m.report.Failed("poll", err, errors.Is(err, sarama.ErrFencedInstancedId))
		}
	}
}

func (m *member) consume() {
	defer close(m.ended)
	for {
		m.mutex.Lock()
		if m.closing {
			m.mutex.Unlock()
			return
		}
		ctx, stop := context.WithCancel(context.Background())
		m.stop = stop
		topics := m.topics
		m.mutex.Unlock()
		err := m.group.Consume(ctx, topics, m)
		if errors.Is(err, sarama.ErrClosedConsumerGroup) {
			return
		}
		if err != nil {
			fatal := errors.Is(err, sarama.ErrFencedInstancedId)
			m.report.Failed("poll", err, fatal)
			if fatal {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// Setup is called when a session begins.
func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	m.mutex.Lock()
	m.session = session
	m.claims = maps.Clone(session.Claims())
	m.mutex.Unlock()
	m.report.Partitions("assigned", session.Claims())
	return nil
}

// Cleanup is called when a session ends, which may be before each partition was claimed.
func (m *member) Cleanup(sarama.ConsumerGroupSession) error {
	m.mutex.Lock()
	unclaimed := m.claims
	m.claims = nil
	m.mutex.Unlock()
	maps.DeleteFunc(unclaimed, func(_ string, indexes []int32) bool { return len(indexes) == 0 })
	if len(unclaimed) > 0 {
		m.report.Partitions("revoked", unclaimed)
	}
	return nil
}

// ConsumeClaim owns a partition as long as it runs.
func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	claimed := map[string][]int32{claim.Topic(): {claim.Partition()}}
	if !m.wasTold(claim) {
		m.report.Partitions("assigned", claimed)
	}
	defer m.report.Partitions("revoked", claimed)
	for {
		select {
		case message, open := <-claim.Messages():
			if !open {
				return nil
			}
			m.waitUntilResumed()
			m.report.Records(message.Topic, message.Partition, message.Offset, message.Offset+1, 1)
		case <-session.Context().Done():
			return nil
		}
	}
}

// wasTold says whether the partition was claimed when the session began; a cooperative session claims more later.
func (m *member) wasTold(claim sarama.ConsumerGroupClaim) bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	told := m.claims[claim.Topic()]
	index := slices.Index(told, claim.Partition())
	if index < 0 {
		return false
	}
	m.claims[claim.Topic()] = slices.Delete(slices.Clone(told), index, index+1)
	return true
}

func (m *member) waitUntilResumed() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for m.paused && !m.closing {
		m.changed.Wait()
	}
}

func (m *member) Subscribe(topics []string) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.topics = topics
	m.stop()
	return nil
}

func (m *member) Commit() (contract.Positions, error) {
	m.mutex.Lock()
	session := m.session
	m.inCommit, m.commitErr = true, nil
	m.mutex.Unlock()
	if session == nil {
		return nil, errors.New("it has joined no group yet")
	}
	positions := m.report.Read()
	for topic, partitions := range positions {
		for partition, offset := range partitions {
			session.MarkOffset(topic, partition, offset, "")
		}
	}
	session.Commit()
	time.Sleep(errorDelay)
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.inCommit = false
	return positions, m.commitErr
}

func (m *member) Pause(paused bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.paused = paused
	m.changed.Broadcast()
}

func (m *member) Close() error {
	m.mutex.Lock()
	m.closing = true
	m.changed.Broadcast()
	m.stop()
	m.mutex.Unlock()
	err := m.group.Close()
	<-m.ended
	return err
}

// A commit that the server rejects while it loads the group is no error to sarama: it is sent again with the next commit.
func main() {
	sarama.Logger = log.New(os.Stderr, "", 0)
	can := append([]string{"static", "subscribe"}, slices.Sorted(maps.Keys(assignors))...)
	can = append(can, "ssl", "ssl-client-auth", "plain", "scram-sha-256", "scram-sha-512", "oauthbearer")
	contract.Run("sarama", contract.Version("github.com/IBM/sarama"), can, open, "commit-answer")
}
