package main

import (
	"fmt"
	"math/rand"
	"runtime"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	shareResetName  = "share.auto.offset.reset"
	acceptRecord    = 1
	recordsPerFetch = 100 // and per batch of the topic, so that each fetch has one batch, whole
)

// shareMember is a member of a share group (KIP-932) with its share session. It judges what it is given.
type shareMember struct {
	t     *target
	group string
	c     *conn
	id    string
	epoch int32

	topic     [16]byte
	partition int32
	session   int32 // epoch of the share session
	next      int64 // the offset that the next record acquired has to have
	held      *kmsg.ShareFetchResponseTopicPartitionAcquiredRecord
}

// openShare is as open, for servers that have share groups; the topic is made too.
func openShare(o *options) (*target, error) {
	t, err := open(o)
	if err != nil {
		return nil, err
	}
	for _, key := range []int16{keyShareGroupHeartbeat, keyShareFetch, keyShareAcknowledge} {
		if _, err := t.versions.pick(key); err != nil {
			return nil, err
		}
	}
	return t, createTopic(o.bootstrap, t.versions, o.topic, o.partitions)
}

func (m *shareMember) heartbeatRequest(epoch int32) *kmsg.ShareGroupHeartbeatRequest {
	r := kmsg.NewPtrShareGroupHeartbeatRequest()
	r.Version = m.t.version(keyShareGroupHeartbeat)
	r.GroupID, r.MemberID, r.MemberEpoch = m.group, m.id, epoch
	return r
}

// beat sends a heartbeat; one that joins is sent again while the coordinator is not ready.
func (m *shareMember) beat(r *kmsg.ShareGroupHeartbeatRequest) (*kmsg.ShareGroupHeartbeatResponse, error) {
	for deadline := time.Now().Add(m.t.patience()); ; time.Sleep(20 * time.Millisecond) {
		got, err := m.c.send(r).wait(m.t.patience())
		if err != nil {
			return nil, fmt.Errorf("ShareGroupHeartbeat %s: %w", m.group, err)
		}
		answer := got.(*kmsg.ShareGroupHeartbeatResponse)
		if answer.ErrorCode == 0 {
			return answer, nil
		}
		if !retriable(answer.ErrorCode) || time.Now().After(deadline) {
			return nil, fmt.Errorf("ShareGroupHeartbeat %s at epoch %d: error %d", m.group, r.MemberEpoch, answer.ErrorCode)
		}
	}
}

// look asks for the whole assignment, and how many partitions it has; the first of them is the one that is fetched.
func (m *shareMember) look() (int, error) {
	r := m.heartbeatRequest(m.epoch)
	r.SubscribedTopicNames = []string{m.t.topic}
	answer, err := m.beat(r)
	if err != nil {
		return 0, err
	}
	m.epoch = answer.MemberEpoch
	count := 0
	if answer.Assignment != nil {
		for _, topic := range answer.Assignment.TopicPartitions {
			for _, partition := range topic.Partitions {
				if count++; count == 1 {
					m.topic, m.partition = topic.TopicID, partition
				}
			}
		}
	}
	return count, nil
}

// formShareGroup joins members over their connections until each has as many partitions as the others.
func formShareGroup(o *options, t *target, name string, conns []*conn) ([]*shareMember, error) {
	members := make([]*shareMember, o.members)
	for i := range members {
		id := fmt.Sprintf("groupload-%016x", rand.Uint64())
		members[i] = &shareMember{t: t, group: name, c: conns[i%len(conns)], id: id}
	}
	for deadline := time.Now().Add(t.patience()); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		owned := map[int32]bool{}
		even := true
		for _, m := range members {
			count, err := m.look()
			if err != nil {
				return nil, err
			}
			even = even && count == o.partitions/o.members
			owned[m.partition] = true
		}
		if even && len(owned) == o.members {
			return members, nil
		}
	}
	return nil, fmt.Errorf("group %s: %d partitions were not shared out to %d members", name, o.partitions, o.members)
}

func leaveShareGroup(members []*shareMember) error {
	for _, m := range members {
		if _, err := m.beat(m.heartbeatRequest(leavingEpoch)); err != nil {
			return err
		}
	}
	return nil
}

// shareHeartbeat is a closed loop of ShareGroupHeartbeats that change nothing.
func shareHeartbeat(o *options) (map[string]any, error) {
	t, err := openShare(o)
	if err != nil {
		return nil, err
	}
	conns, err := dialMany(t.coordinator, min(o.conns, o.members), o.parallel)
	if err != nil {
		return nil, err
	}
	defer closeAll(conns)
	groups := make([][]*shareMember, o.groups)
	for i := range groups {
		if groups[i], err = formShareGroup(o, t, fmt.Sprintf("%s-%d", o.prefix, i), conns); err != nil {
			return nil, err
		}
	}
	var ops []*op
	for i := range o.members {
		for _, members := range groups {
			ops = append(ops, newOp(members[i].heartbeatRequest(members[i].epoch)))
		}
	}
	cl := &closedLoop{addr: t.coordinator, pipeline: o.pipeline, warmup: duration(o.warmup), run: duration(o.seconds), pids: o.pids}
	cl.check = func(_ *op, r kmsg.Response) int16 { return r.(*kmsg.ShareGroupHeartbeatResponse).ErrorCode }
	runtime.GC()
	r := cl.drive(ops, o.conns, o.threads)
	n := r.hist.n
	out := map[string]any{
		"conns": o.conns, "groups": o.groups, "members": o.members, "pipeline": o.pipeline, "ops": n,
		"ops_per_s": int64(float64(n) / max(r.elapsed.Seconds(), 1e-9)), "latency_us": r.hist.summary(), "errors": r.errors,
		"client_cpu_us_per_op": perOp(r.clientCPU, n),
	}
	if o.pids != "" {
		out["server_cpu_us_per_op"], out["server_rss_kib"] = perOp(r.serverCPU, n), r.rssKiB
	}
	if r.err != nil {
		return out, r.err
	}
	for _, members := range groups {
		if err := leaveShareGroup(members); err != nil {
			return out, err
		}
	}
	return out, nil
}

// shareRecords has each member fetch and accept the records of a partition of its own, 100 at a time.
func shareRecords(o *options) (map[string]any, error) {
	o.partitions = o.members
	t, err := openShare(o)
	if err != nil {
		return nil, err
	}
	warm := int(o.warmup)
	if err := fillTopic(o, t, warm+o.rounds); err != nil {
		return nil, err
	}
	if err := setGroupConfig(t, o.prefix+"-0", shareResetName, "earliest"); err != nil {
		return nil, err
	}
	conns, err := dialMany(t.coordinator, o.members, o.parallel)
	if err != nil {
		return nil, err
	}
	defer closeAll(conns)
	members, err := formShareGroup(o, t, o.prefix+"-0", conns)
	if err != nil {
		return nil, err
	}
	if err := eachShareMember(members, func(m *shareMember) error { return m.consume(warm, o.explicit, nil) }); err != nil {
		return nil, err
	}
	runtime.GC()
	hists := make(map[*shareMember]*histogram, len(members))
	for _, m := range members {
		hists[m] = &histogram{}
	}
	before, cpu, began := readUsage(o.pids), ownCPU(), time.Now()
	err = eachShareMember(members, func(m *shareMember) error { return m.consume(o.rounds, o.explicit, hists[m]) })
	took, after := time.Since(began), readUsage(o.pids)
	var total histogram
	for _, each := range hists {
		total.merge(each)
	}
	out := map[string]any{
		"members": o.members, "ops": total.n, "explicit": o.explicit, "records_per_s": int64(float64(total.n*recordsPerFetch) / took.Seconds()),
		"latency_us": total.summary(), "client_cpu_us_per_op": perOp(ownCPU()-cpu, total.n),
	}
	if o.pids != "" {
		out["server_cpu_us_per_op"], out["server_rss_kib"] = perOp(after.cpu-before.cpu, total.n), after.rssKiB
	}
	if err != nil {
		return out, err
	}
	if err := eachShareMember(members, (*shareMember).closeSession); err != nil {
		return out, err
	}
	return out, leaveShareGroup(members)
}

func eachShareMember(members []*shareMember, f func(*shareMember) error) error {
	errs := make(chan error, len(members))
	for _, m := range members {
		go func() { errs <- f(m) }()
	}
	if err := gather(errs, len(members)); err != nil {
		return err
	}
	return anyViolation()
}

// consume fetches so many times; what was fetched before is accepted on the way, or by a request of its own.
func (m *shareMember) consume(times int, explicit bool, hist *histogram) error {
	for range times {
		began := time.Now()
		if explicit && m.held != nil {
			if err := m.acknowledge(); err != nil {
				return err
			}
		}
		if err := m.fetch(); err != nil {
			return err
		}
		if hist != nil {
			hist.add(time.Since(began))
		}
	}
	return nil
}

// fetch acquires the next records, and accepts those that are held.
func (m *shareMember) fetch() error {
	for deadline := time.Now().Add(m.t.patience()); time.Now().Before(deadline); {
		answer, err := m.fetchOnce()
		if err != nil {
			return err
		}
		for _, topic := range answer.Topics {
			for _, p := range topic.Partitions {
				if p.ErrorCode != 0 || p.AcknowledgeErrorCode != 0 {
					return fmt.Errorf("ShareFetch of %s: errors %d, %d", m.group, p.ErrorCode, p.AcknowledgeErrorCode)
				}
				if len(p.AcquiredRecords) > 0 {
					return m.take(&p)
				}
			}
		}
		if m.session == 1 { // the share partition is being loaded: the session is asked again
			time.Sleep(5 * time.Millisecond)
		}
	}
	return fmt.Errorf("ShareFetch of %s: no records within %v", m.group, m.t.patience())
}

func (m *shareMember) fetchOnce() (*kmsg.ShareFetchResponse, error) {
	r := kmsg.NewPtrShareFetchRequest()
	r.Version = m.t.version(keyShareFetch)
	r.GroupID, r.MemberID, r.ShareSessionEpoch = &m.group, &m.id, m.session
	r.MaxWaitMillis, r.MinBytes, r.MaxBytes, r.MaxRecords, r.BatchSize = 500, 1, 50<<20, recordsPerFetch, recordsPerFetch
	if m.session == 0 || m.held != nil {
		p := kmsg.NewShareFetchRequestTopicPartition()
		p.Partition, p.PartitionMaxBytes = m.partition, 1<<20
		if m.held != nil {
			p.AcknowledgementBatches = []kmsg.ShareFetchRequestTopicPartitionAcknowledgementBatch{
				{FirstOffset: m.held.FirstOffset, LastOffset: m.held.LastOffset, AcknowledgeTypes: []int8{acceptRecord}},
			}
		}
		topic := kmsg.NewShareFetchRequestTopic()
		topic.TopicID, topic.Partitions = m.topic, []kmsg.ShareFetchRequestTopicPartition{p}
		r.Topics = []kmsg.ShareFetchRequestTopic{topic}
	}
	got, err := m.c.send(r).wait(m.t.patience())
	if err != nil {
		return nil, fmt.Errorf("ShareFetch of %s: %w", m.group, err)
	}
	answer := got.(*kmsg.ShareFetchResponse)
	if answer.ErrorCode != 0 {
		return nil, fmt.Errorf("ShareFetch of %s at session epoch %d: error %d", m.group, m.session, answer.ErrorCode)
	}
	m.held = nil
	m.session++
	return answer, nil
}

// take wants one range with the 100 records that come next, delivered for the first time.
func (m *shareMember) take(p *kmsg.ShareFetchResponseTopicPartition) error {
	got := p.AcquiredRecords[0]
	count := got.LastOffset - got.FirstOffset + 1
	if len(p.AcquiredRecords) != 1 || got.FirstOffset != m.next || count != recordsPerFetch || got.DeliveryCount != 1 {
		violate("ShareFetch of %s: acquired %v, expected %d records from %d on", m.group, p.AcquiredRecords, recordsPerFetch, m.next)
	}
	if int64(len(p.Records)) < count*int64(len(recordValue)) {
		violate("ShareFetch of %s: %d bytes for %d records", m.group, len(p.Records), count)
	}
	m.held, m.next = &got, got.LastOffset+1
	return anyViolation()
}

func (m *shareMember) acknowledge() error {
	p := kmsg.NewShareAcknowledgeRequestTopicPartition()
	p.Partition = m.partition
	p.AcknowledgementBatches = []kmsg.ShareAcknowledgeRequestTopicPartitionAcknowledgementBatch{
		{FirstOffset: m.held.FirstOffset, LastOffset: m.held.LastOffset, AcknowledgeTypes: []int8{acceptRecord}},
	}
	topic := kmsg.NewShareAcknowledgeRequestTopic()
	topic.TopicID, topic.Partitions = m.topic, []kmsg.ShareAcknowledgeRequestTopicPartition{p}
	m.held = nil
	return m.sendAcknowledge([]kmsg.ShareAcknowledgeRequestTopic{topic}, m.session)
}

func (m *shareMember) sendAcknowledge(topics []kmsg.ShareAcknowledgeRequestTopic, epoch int32) error {
	r := kmsg.NewPtrShareAcknowledgeRequest()
	r.Version = m.t.version(keyShareAcknowledge)
	r.GroupID, r.MemberID, r.ShareSessionEpoch, r.Topics = &m.group, &m.id, epoch, topics
	got, err := m.c.send(r).wait(m.t.patience())
	if err != nil {
		return fmt.Errorf("ShareAcknowledge of %s: %w", m.group, err)
	}
	answer := got.(*kmsg.ShareAcknowledgeResponse)
	if answer.ErrorCode != 0 {
		return fmt.Errorf("ShareAcknowledge of %s at session epoch %d: error %d", m.group, epoch, answer.ErrorCode)
	}
	answered := 0
	for _, topic := range answer.Topics {
		for _, p := range topic.Partitions {
			if answered++; p.ErrorCode != 0 {
				return fmt.Errorf("ShareAcknowledge of %s: error %d", m.group, p.ErrorCode)
			}
		}
	}
	if answered != len(topics) {
		violate("ShareAcknowledge of %d partitions answered for %d", len(topics), answered)
	}
	m.session++
	return anyViolation()
}

// closeSession gives back what is held.
func (m *shareMember) closeSession() error { return m.sendAcknowledge(nil, leavingEpoch) }
