// The driver of franz-go's share groups.
package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"interop/contract"
)

var types = map[string]kgo.AckStatus{
	"accept": kgo.AckAccept, "release": kgo.AckRelease, "reject": kgo.AckReject, "renew": kgo.AckRenew,
}

type member struct {
	client   *kgo.Client
	report   *contract.Report
	topics   []string
	explicit bool
	maximum  int
	paused   atomic.Bool
	how      atomic.Value
	mutex    sync.Mutex
	held     map[contract.Place]*kgo.Record
	cancel   context.CancelFunc
	ended    chan struct{}
}

func open(options contract.Command, report *contract.Report) (contract.Consumer, error) {
	if options.ClientID == "" {
		options.ClientID = options.Member
	}
	if options.MaxRecords == 0 {
		options.MaxRecords = 500
	}
	ctx, cancel := context.WithCancel(context.Background())
	m := &member{
		report: report, topics: options.Topics, explicit: options.Acknowledgement == "explicit", maximum: options.MaxRecords,
		held: map[contract.Place]*kgo.Record{}, cancel: cancel, ended: make(chan struct{}),
	}
	m.how.Store("async")
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(options.Bootstrap, ",")...),
		kgo.ClientID(options.ClientID),
		kgo.ShareGroup(options.Group),
		kgo.ShareMaxRecords(int32(options.MaxRecords)),
		kgo.ShareAckCallback(m.acknowledged),
		kgo.ConsumeTopics(options.Topics...),
		kgo.MetadataMinAge(100*time.Millisecond),
		kgo.WithLogger(kgo.BasicLogger(os.Stderr, kgo.LogLevelWarn, nil)),
	)
	if err != nil {
		cancel()
		return nil, err
	}
	m.client = client
	go m.poll(ctx)
	return m, nil
}

func (m *member) poll(ctx context.Context) {
	defer close(m.ended)
	for ctx.Err() == nil {
		if m.paused.Load() || m.holds() {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		// Not without end: a poll is what accepts the records of the one before.
		once, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		fetches := m.client.PollRecords(once, m.maximum)
		cancel()
		if fetches.IsClientClosed() || ctx.Err() != nil {
			return
		}
		fetches.EachError(func(_ string, _ int32, err error) {
			if !errors.Is(err, context.DeadlineExceeded) {
				m.report.Failed("poll", err, false)
			}
		})
		m.take(fetches)
	}
}

func (m *member) take(fetches kgo.Fetches) {
	var delivered []contract.Delivery
	m.mutex.Lock()
	fetches.EachRecord(func(record *kgo.Record) {
		place := contract.Place{Topic: record.Topic, Partition: record.Partition, Offset: record.Offset}
		delivered = append(delivered, contract.Delivery{Place: place, Count: record.DeliveryCount()})
		if m.explicit {
			m.held[place] = record
		}
	})
	m.mutex.Unlock()
	if len(delivered) > 0 {
		m.report.Delivered(delivered)
	}
}

func (m *member) holds() bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return len(m.held) > 0
}

// Acknowledge marks records. franz-go sends that by itself soon; FlushAcks waits for it.
func (m *member) Acknowledge(command contract.Command) error {
	m.how.Store(command.How)
	m.mutex.Lock()
	for _, place := range command.Records {
		if record := m.held[place]; record != nil {
			record.Ack(types[command.Type])
			if command.Type != "renew" {
				delete(m.held, place)
			}
		}
	}
	m.mutex.Unlock()
	if command.How != "sync" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return m.client.FlushAcks(ctx)
}

func (m *member) acknowledged(_ *kgo.Client, results kgo.ShareAckResults) {
	told := map[string]map[int32]string{}
	for _, each := range results {
		if told[each.Topic] == nil {
			told[each.Topic] = map[int32]string{}
		}
		var known *kerr.Error
		switch {
		case errors.As(each.Err, &known):
			told[each.Topic][each.Partition] = known.Message
		case each.Err != nil:
			told[each.Topic][each.Partition] = each.Err.Error()
		default:
			told[each.Topic][each.Partition] = ""
		}
	}
	m.report.Acknowledged(m.how.Load().(string), told)
}

func (m *member) Subscribe(topics []string) error {
	m.client.AddConsumeTopics(topics...)
	return nil
}

func (m *member) Commit() (contract.Positions, error) {
	return nil, errors.New("share groups have no commits")
}

func (m *member) Pause(paused bool) { m.paused.Store(paused) }

func (m *member) Close() error {
	m.cancel()
	<-m.ended
	m.client.Close()
	return nil
}

func main() {
	can := []string{"share-protocol", "renew"}
	contract.Run("franz-go", contract.Version("github.com/twmb/franz-go"), can, open, "commit", "commit-answer")
}
