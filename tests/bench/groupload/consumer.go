package main

import (
	"fmt"
	"math/rand"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Member epochs that a heartbeat may carry instead of the member's own (KIP-848).
const (
	joiningEpoch = 0
	leavingEpoch = -1
)

// consumerGroup is what the tool knows of one consumer group (KIP-848); it is the judge of what the server assigns.
type consumerGroup struct {
	t          *target
	name       string
	partitions int

	mu      sync.Mutex
	members []*consumerMember // those that are in the group, or about to join it
	owners  map[topicPartition]*consumerMember
	after   int32         // a stable state counts only at an epoch later than this one
	stable  chan struct{} // closed once the members share out all partitions at one epoch
	waiting bool
	beats   atomic.Int64 // heartbeats sent
}

type topicPartition struct {
	topic     [16]byte
	partition int32
}

// consumerMember behaves as stock clients do: it gives partitions up at once, and reports what it owns after each change.
type consumerMember struct {
	g        *consumerGroup
	c        *conn
	id       string
	epoch    int32
	owned    map[topicPartition]bool
	isReport bool // the next heartbeat has to say what it owns
}

func newConsumerGroup(t *target, name string, size, partitions int) *consumerGroup {
	g := &consumerGroup{t: t, name: name, partitions: partitions, owners: map[topicPartition]*consumerMember{}}
	for range size {
		g.members = append(g.members, g.newMember())
	}
	return g
}

func (g *consumerGroup) newMember() *consumerMember {
	return &consumerMember{g: g, id: fmt.Sprintf("groupload-%016x%016x", rand.Uint64(), rand.Uint64()), owned: map[topicPartition]bool{}}
}

func (m *consumerMember) request(epoch int32) *kmsg.ConsumerGroupHeartbeatRequest {
	r := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	r.Version = m.g.t.version(keyConsumerGroupHeartbeat)
	r.Group, r.MemberID, r.MemberEpoch, r.RebalanceTimeoutMillis = m.g.name, m.id, epoch, -1
	return r
}

func (m *consumerMember) joinRequest() *kmsg.ConsumerGroupHeartbeatRequest {
	r := m.request(joiningEpoch)
	r.RebalanceTimeoutMillis = int32(m.g.t.rebalanceTimeout.Milliseconds())
	r.SubscribedTopicNames = []string{m.g.t.topic}
	r.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	return r
}

// nextRequest has what the member has to tell: all of it when it joins, later only what has changed.
func (m *consumerMember) nextRequest() *kmsg.ConsumerGroupHeartbeatRequest {
	if m.epoch == joiningEpoch {
		return m.joinRequest()
	}
	r := m.request(m.epoch)
	if m.isReport {
		r.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		byTopic := map[[16]byte][]int32{}
		for each := range m.owned {
			byTopic[each.topic] = append(byTopic[each.topic], each.partition)
		}
		for topic, partitions := range byTopic {
			x := kmsg.NewConsumerGroupHeartbeatRequestTopic()
			x.TopicID, x.Partitions = topic, partitions
			r.Topics = append(r.Topics, x)
		}
	}
	return r
}

// beat sends one heartbeat and follows the answer. Any error but those of a coordinator that is not ready is nonsense.
func (m *consumerMember) beat() error {
	for deadline := time.Now().Add(m.g.t.patience()); ; time.Sleep(20 * time.Millisecond) {
		m.g.beats.Add(1)
		got, err := m.c.send(m.nextRequest()).wait(m.g.t.patience())
		if err != nil {
			return fmt.Errorf("ConsumerGroupHeartbeat %s: %w", m.g.name, err)
		}
		r := got.(*kmsg.ConsumerGroupHeartbeatResponse)
		switch {
		case r.ErrorCode == 0:
			return m.follow(r)
		case retriable(r.ErrorCode) && time.Now().Before(deadline):
		case m.epoch == joiningEpoch:
			return fmt.Errorf("ConsumerGroupHeartbeat %s: error %d to a member that joins", m.g.name, r.ErrorCode)
		default:
			violate("group %s: ConsumerGroupHeartbeat at epoch %d answered error %d", m.g.name, m.epoch, r.ErrorCode)
			return anyViolation()
		}
	}
}

func (m *consumerMember) follow(r *kmsg.ConsumerGroupHeartbeatResponse) error {
	if r.MemberID != nil && *r.MemberID != m.id {
		violate("group %s: ConsumerGroupHeartbeat of %s answered for %s", m.g.name, m.id, *r.MemberID)
	}
	if r.MemberEpoch < m.epoch || r.MemberEpoch <= 0 {
		violate("group %s: member epoch %d after %d", m.g.name, r.MemberEpoch, m.epoch)
	}
	m.g.mu.Lock()
	defer m.g.mu.Unlock()
	isChange := r.MemberEpoch != m.epoch || m.isReport
	m.epoch, m.isReport = r.MemberEpoch, false
	if r.Assignment != nil {
		m.isReport = m.own(r.Assignment)
		isChange = true
	}
	if isChange {
		m.g.look()
	}
	return anyViolation()
}

// own makes the assignment what the member owns and says whether anything changed. The group is locked.
func (m *consumerMember) own(assigned *kmsg.ConsumerGroupHeartbeatResponseAssignment) bool {
	next := map[topicPartition]bool{}
	for _, topic := range assigned.Topics {
		for _, partition := range topic.Partitions {
			next[topicPartition{topic.TopicID, partition}] = true
		}
	}
	changed := len(next) != len(m.owned)
	for each := range m.owned {
		if !next[each] {
			delete(m.g.owners, each)
			changed = true
		}
	}
	for each := range next {
		if owner := m.g.owners[each]; owner != nil && owner != m {
			violate("group %s: partition %d was assigned to two members", m.g.name, each.partition)
		}
		m.g.owners[each] = m
		changed = changed || !m.owned[each]
	}
	m.owned = next
	return changed
}

// leave tells the server and forgets the member.
func (m *consumerMember) leave() error {
	got, err := m.c.send(m.request(leavingEpoch)).wait(m.g.t.patience())
	if err != nil {
		return err
	}
	if code := got.(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode; code != 0 {
		return fmt.Errorf("ConsumerGroupHeartbeat %s: error %d to a member that leaves", m.g.name, code)
	}
	return nil
}

// expectStable arms g.stable for an epoch later than `after`. The group is not locked.
func (g *consumerGroup) expectStable(after int32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.after, g.stable, g.waiting = after, make(chan struct{}), true
}

// look closes g.stable once the members, at one epoch, own all partitions and have reported so. The group is locked.
func (g *consumerGroup) look() {
	if !g.waiting || len(g.owners) != g.partitions {
		return
	}
	epoch := g.members[0].epoch
	for _, m := range g.members {
		if m.epoch != epoch || m.epoch <= g.after || m.isReport || len(m.owned) == 0 {
			return
		}
	}
	g.waiting = false
	close(g.stable)
}

// remove takes a member that left out of the group.
func (g *consumerGroup) remove(gone *consumerMember) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for each := range gone.owned {
		delete(g.owners, each)
	}
	for i, m := range g.members {
		if m == gone {
			g.members = append(g.members[:i], g.members[i+1:]...)
			return
		}
	}
}

// run sends heartbeats until the group is stable: at once if there is something to report, else every interval.
func (m *consumerMember) run(interval time.Duration) error {
	stable := m.g.stable
	for {
		if err := m.beat(); err != nil {
			return err
		}
		wait := interval
		if m.isReport {
			wait = 0
		}
		select {
		case <-stable:
			return nil
		case <-time.After(wait):
		}
	}
}

// untilStable runs all members until the group is stable, each beginning within the spread.
func (g *consumerGroup) untilStable(interval, spread time.Duration) error {
	members := append([]*consumerMember(nil), g.members...)
	errs := make(chan error, len(members))
	for _, m := range members {
		go func() {
			if spread > 0 {
				time.Sleep(time.Duration(rand.Int63n(int64(spread))))
			}
			errs <- m.run(interval)
		}()
	}
	late := time.NewTimer(g.t.patience())
	defer late.Stop()
	for range members {
		select {
		case err := <-errs:
			if err != nil {
				return err
			}
		case <-late.C:
			return fmt.Errorf("group %s: not stable within %v", g.name, g.t.patience())
		}
	}
	return anyViolation()
}
