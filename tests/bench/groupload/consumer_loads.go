package main

import (
	"fmt"
	"runtime"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	groupResource          = 32 // the type of groups as resources with configs
	assignmentIntervalName = "consumer.assignment.interval.ms"
)

// openConsumer is as open, for servers that have the new group protocol; the topic is made too.
func openConsumer(o *options) (*target, error) {
	t, err := open(o)
	if err != nil {
		return nil, err
	}
	if _, err := t.versions.pick(keyConsumerGroupHeartbeat); err != nil {
		return nil, err
	}
	return t, createTopic(o.bootstrap, t.versions, o.topic, o.partitions)
}

// setAssignmentInterval makes each change of a group have its own target; a server without group configs has no such interval.
func (g *consumerGroup) setAssignmentInterval(value string) error {
	return setGroupConfig(g.t, g.name, assignmentIntervalName, value)
}

// setGroupConfig sets a config of a group where the server has such.
func setGroupConfig(t *target, group, name, value string) error {
	version, err := t.versions.pick(keyIncrementalAlterConfigs)
	if err != nil {
		return nil
	}
	c, err := dial(t.coordinator)
	if err != nil {
		return err
	}
	defer c.close()
	r := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r.Version = version
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = groupResource, group
	config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	config.Name, config.Value = name, &value
	resource.Configs = append(resource.Configs, config)
	r.Resources = append(r.Resources, resource)
	_, err = c.send(r).wait(10 * time.Second)
	return err
}

// makeConsumerGroup forms a group over its connections, which the caller closes.
func makeConsumerGroup(o *options, t *target, name string, conns []*conn) (*consumerGroup, error) {
	g := newConsumerGroup(t, name, o.members, o.partitions)
	for i, m := range g.members {
		m.c = conns[i%len(conns)]
	}
	if err := g.setAssignmentInterval("0"); err != nil {
		return nil, err
	}
	g.expectStable(0)
	return g, g.untilStable(10*time.Millisecond, 0)
}

func leaveConsumerGroup(g *consumerGroup) error {
	for _, m := range g.members {
		if err := m.leave(); err != nil {
			return err
		}
	}
	return nil
}

// consumerHeartbeat is a closed loop of ConsumerGroupHeartbeats that change nothing, of groups that are stable.
func consumerHeartbeat(o *options) (map[string]any, error) {
	t, err := openConsumer(o)
	if err != nil {
		return nil, err
	}
	conns, err := dialMany(t.coordinator, min(o.conns, o.members), o.parallel)
	if err != nil {
		return nil, err
	}
	defer closeAll(conns)
	groups := make([]*consumerGroup, o.groups)
	for i := range groups {
		if groups[i], err = makeConsumerGroup(o, t, fmt.Sprintf("%s-%d", o.prefix, i), conns); err != nil {
			return nil, err
		}
	}
	var ops []*op
	for i := range o.members {
		for _, g := range groups {
			ops = append(ops, newOp(g.members[i].request(g.members[i].epoch)))
		}
	}
	cl := &closedLoop{addr: t.coordinator, pipeline: o.pipeline, warmup: duration(o.warmup), run: duration(o.seconds), pids: o.pids}
	cl.check = func(_ *op, r kmsg.Response) int16 { return r.(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode }
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
	for _, g := range groups {
		if err := leaveConsumerGroup(g); err != nil {
			return out, err
		}
	}
	return out, nil
}

// consumerJoin times members that all join one group at once, from the first heartbeat to the last member's report.
func consumerJoin(o *options) (map[string]any, error) {
	t, err := openConsumer(o)
	if err != nil {
		return nil, err
	}
	conns, err := dialMany(t.coordinator, o.conns, o.parallel)
	if err != nil {
		return nil, err
	}
	defer closeAll(conns)
	var total histogram
	var cpu time.Duration
	var beats int64
	for round := range int(o.warmup) + o.rounds {
		g := newConsumerGroup(t, fmt.Sprintf("%s-%d", o.prefix, round), o.members, o.partitions)
		for i, m := range g.members {
			m.c = conns[i%len(conns)]
		}
		g.expectStable(0)
		before, began := readUsage(o.pids), time.Now()
		if err := g.untilStable(o.interval, 0); err != nil {
			return nil, err
		}
		if round >= int(o.warmup) {
			total.add(time.Since(began))
			cpu += readUsage(o.pids).cpu - before.cpu
			beats += g.beats.Load()
		}
		if err := leaveConsumerGroup(g); err != nil {
			return nil, err
		}
	}
	return consumerFigures(o, &total, cpu, beats), nil
}

// consumerReplace times rounds in which one member leaves and, once the others are stable, another joins.
func consumerReplace(o *options) (map[string]any, error) {
	t, err := openConsumer(o)
	if err != nil {
		return nil, err
	}
	conns, err := dialMany(t.coordinator, o.conns, o.parallel)
	if err != nil {
		return nil, err
	}
	defer closeAll(conns)
	g, err := makeConsumerGroup(o, t, o.prefix+"-0", conns)
	if err != nil {
		return nil, err
	}
	var total histogram
	var cpu time.Duration
	var beats int64
	for round := range int(o.warmup) + o.rounds {
		before, began, sent := readUsage(o.pids), time.Now(), g.beats.Load()
		if err := g.replace(o.interval); err != nil {
			return nil, fmt.Errorf("round %d: %w", round, err)
		}
		if round >= int(o.warmup) {
			total.add(time.Since(began))
			cpu += readUsage(o.pids).cpu - before.cpu
			beats += g.beats.Load() - sent
		}
	}
	if err := leaveConsumerGroup(g); err != nil {
		return nil, err
	}
	return consumerFigures(o, &total, cpu, beats), nil
}

func (g *consumerGroup) replace(interval time.Duration) error {
	gone := g.members[0]
	g.expectStable(gone.epoch)
	if err := gone.leave(); err != nil {
		return err
	}
	g.remove(gone)
	if err := g.untilStable(interval, interval); err != nil {
		return err
	}
	joining := g.newMember()
	joining.c = gone.c
	g.expectStable(g.members[0].epoch)
	g.mu.Lock()
	g.members = append(g.members, joining)
	g.mu.Unlock()
	return g.untilStable(interval, interval)
}

func consumerFigures(o *options, total *histogram, cpu time.Duration, beats int64) map[string]any {
	out := map[string]any{"heartbeats_per_member": float64(beats) / float64(o.rounds*o.members), "members": o.members, "conns": o.conns, "rounds": o.rounds, "partitions": o.partitions, "stable_us": total.summary()}
	if o.pids != "" {
		out["server_cpu_us_per_member"] = perOp(cpu, uint64(o.rounds*o.members))
		out["server_rss_kib"] = readUsage(o.pids).rssKiB
	}
	return out
}
