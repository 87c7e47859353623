// The driver of franz-go.
package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
	"interop/contract"
)

var assignors = map[string]func() kgo.GroupBalancer{
	"range":              kgo.RangeBalancer,
	"roundrobin":         kgo.RoundRobinBalancer,
	"sticky":             kgo.StickyBalancer,
	"cooperative-sticky": kgo.CooperativeStickyBalancer,
}

type member struct {
	client *kgo.Client
	report *contract.Report
	topics []string
	paused atomic.Bool
	cancel context.CancelFunc
	ended  chan struct{}
}

func open(options contract.Command, report *contract.Report) (contract.Consumer, error) {
	tell := func(event string) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
			report.Partitions(event, partitions)
		}
	}
	if options.Assignors == nil {
		options.Assignors = []string{"range"}
	}
	var balancers []kgo.GroupBalancer
	for _, name := range options.Assignors {
		balancers = append(balancers, assignors[name]())
	}
	clientID := options.ClientID
	if clientID == "" {
		clientID = options.Member
	}
	settings := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(options.Bootstrap, ",")...),
		kgo.ClientID(clientID),
		kgo.ConsumerGroup(options.Group),
		kgo.Balancers(balancers...),
		kgo.SessionTimeout(contract.Ms(options.SessionTimeoutMs, 10_000)),
		kgo.HeartbeatInterval(contract.Ms(options.HeartbeatIntervalMs, 500)),
		kgo.RebalanceTimeout(contract.Ms(options.MaxPollIntervalMs, 300_000)),
		kgo.MetadataMaxAge(contract.Ms(options.MetadataMaxAgeMs, 300_000)),
		kgo.MetadataMinAge(100 * time.Millisecond),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		kgo.WithLogger(kgo.BasicLogger(os.Stderr, kgo.LogLevelWarn, nil)),
		kgo.OnPartitionsAssigned(tell("assigned")),
		kgo.OnPartitionsRevoked(tell("revoked")),
		kgo.OnPartitionsLost(tell("lost")),
	}
	if options.Protocol == "consumer" {
		// franz-go asks for the server's assignor that resembles its own: uniform for sticky, range for range.
		balancer := kgo.StickyBalancer()
		if options.ServerAssignor == "range" {
			balancer = kgo.RangeBalancer()
		}
		settings = append(settings, kgo.Balancers(balancer))
		settings = append(settings, serverSideBalancer()...)
	}
	if options.InstanceID != "" {
		settings = append(settings, kgo.InstanceID(options.InstanceID))
	}
	if options.Pattern != "" {
		settings = append(settings, kgo.ConsumeRegex(), kgo.ConsumeTopics(options.Pattern))
	} else {
		settings = append(settings, kgo.ConsumeTopics(options.Topics...))
	}
	secured, err := secure(options.Security)
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(append(settings, secured...)...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	m := &member{client: client, report: report, topics: options.Topics, cancel: cancel, ended: make(chan struct{})}
	go m.poll(ctx)
	return m, nil
}

func secure(security contract.Security) ([]kgo.Opt, error) {
	if security.Protocol == "" {
		return nil, nil
	}
	config, err := security.TLS()
	if err != nil {
		return nil, err
	}
	settings := []kgo.Opt{kgo.DialTLSConfig(config)}
	switch security.Mechanism {
	case "PLAIN":
		settings = append(settings, kgo.SASL(plain.Auth{User: security.Username, Pass: security.Password}.AsMechanism()))
	case "SCRAM-SHA-256":
		auth := scram.Auth{User: security.Username, Pass: security.Password}
		settings = append(settings, kgo.SASL(auth.AsSha256Mechanism()))
	case "SCRAM-SHA-512":
		auth := scram.Auth{User: security.Username, Pass: security.Password}
		settings = append(settings, kgo.SASL(auth.AsSha512Mechanism()))
	case "OAUTHBEARER":
		settings = append(settings, kgo.SASL(oauth.Auth{Token: security.Token}.AsMechanism()))
	}
	return settings, nil
}

func (m *member) poll(ctx context.Context) {
	defer close(m.ended)
	for ctx.Err() == nil {
		if m.paused.Load() {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		fetches := m.client.PollFetches(ctx)
		if fetches.IsClientClosed() || ctx.Err() != nil {
			return
		}
		fenced := false
		fetches.EachError(func(_ string, _ int32, err error) {
			fenced = errors.Is(err, kerr.FencedInstanceID)
			m.report.Failed("poll", err, fenced)
		})
		if fenced {
			go m.client.Close()
			return
		}
		fetches.EachPartition(func(each kgo.FetchTopicPartition) {
			if count := len(each.Records); count > 0 {
				m.report.Records(each.Topic, each.Partition, each.Records[0].Offset, each.Records[count-1].Offset+1, count)
			}
		})
	}
}

func (m *member) Subscribe(topics []string) error {
	wanted := map[string]bool{}
	for _, each := range topics {
		wanted[each] = true
	}
	m.client.AddConsumeTopics(topics...)
	for _, each := range m.topics {
		if !wanted[each] {
			m.client.PurgeTopicsFromConsuming(each)
		}
	}
	m.topics = topics
	return nil
}

func (m *member) Commit() (contract.Positions, error) {
	positions := m.report.Read()
	offsets := map[string]map[int32]kgo.EpochOffset{}
	for topic, partitions := range positions {
		offsets[topic] = map[int32]kgo.EpochOffset{}
		for partition, offset := range partitions {
			offsets[topic][partition] = kgo.EpochOffset{Epoch: -1, Offset: offset}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var problem error
	m.client.CommitOffsetsSync(ctx, offsets, func(
		_ *kgo.Client, _ *kmsg.OffsetCommitRequest, response *kmsg.OffsetCommitResponse, err error,
	) {
		problem = err
		if err != nil {
			return
		}
		for _, topic := range response.Topics {
			for _, partition := range topic.Partitions {
				if err := kerr.ErrorForCode(partition.ErrorCode); err != nil {
					problem = err
				}
			}
		}
	})
	return positions, problem
}

func (m *member) Pause(paused bool) { m.paused.Store(paused) }

func (m *member) Close() error {
	m.cancel()
	<-m.ended
	m.client.Close()
	return nil
}

func main() {
	can := []string{"pattern", "static", "subscribe", "range", "roundrobin", "sticky", "cooperative-sticky"}
	can = append(can, "ssl", "ssl-client-auth", "plain", "scram-sha-256", "scram-sha-512", "oauthbearer")
	if len(serverSideBalancer()) > 0 {
		can = append(can, "consumer-protocol")
	}
	contract.Run("franz-go", contract.Version("github.com/twmb/franz-go"), can, open)
}
