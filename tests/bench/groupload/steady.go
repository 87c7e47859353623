package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// steadyRun is very many groups of one member each over few connections: a member's heartbeats begin when its group is
// formed, so that no session may run out while the others are still being made. Latency counts from the scheduled time.
type steadyRun struct {
	o         *options
	stop      chan struct{}
	formed    atomic.Int64
	measuring atomic.Bool
	mu        sync.Mutex
	beats     histogram
	joins     histogram // from the first JoinGroup of a member to the answer of its SyncGroup
	errs      map[int16]uint64
	failed    error
}

// beat is a member's next heartbeat.
type beat struct {
	m        *member
	due      time.Time
	answered time.Time // the request before it: the session runs on from there at least
}

func steady(o *options) (map[string]any, error) {
	if o.members != 1 {
		return nil, fmt.Errorf("steady: groups have one member, not --members %d", o.members)
	}
	t, err := open(o)
	if err != nil {
		return nil, err
	}
	conns, err := dialMany(t.coordinator, min(o.conns, o.groups), o.parallel)
	if err != nil {
		return nil, err
	}
	defer closeAll(conns)
	groups := makeGroups(o, t)
	r := &steadyRun{o: o, stop: make(chan struct{}), errs: map[int16]uint64{}}
	empty, began := readUsage(o.pids), time.Now()
	var wg sync.WaitGroup
	for i, c := range conns {
		var mine []*group
		for k := i; k < len(groups); k += len(conns) {
			mine = append(mine, groups[k])
		}
		wg.Add(1)
		go func() { defer wg.Done(); r.serve(c, mine) }()
	}
	for r.formed.Load() < int64(len(groups)) && r.failure() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	took := time.Since(began)
	time.Sleep(duration(o.warmup))
	before, cpu, start := readUsage(o.pids), ownCPU(), time.Now()
	r.measuring.Store(true)
	for end := start.Add(duration(o.seconds)); time.Now().Before(end) && r.failure() == nil; {
		time.Sleep(min(time.Until(end), 100*time.Millisecond))
	}
	elapsed := time.Since(start)
	after, cpuAfter := readUsage(o.pids), ownCPU()
	close(r.stop)
	wg.Wait()
	n := r.beats.n
	out := map[string]any{
		"groups": o.groups, "conns": len(conns), "formed": r.formed.Load(), "form_s": took.Seconds(), "seconds": elapsed.Seconds(),
		"heartbeats_per_s": int64(float64(n) / elapsed.Seconds()), "heartbeat_us": r.beats.summary(), "join_us": r.joins.summary(), "errors": r.errs,
		"client_cpu_us_per_op": perOp(cpuAfter-cpu, n),
	}
	if o.pids != "" {
		out["server_cpu_us_per_op"], out["server_rss_kib"] = perOp(after.cpu-before.cpu, n), after.rssKiB
		out["server_kib_per_group"] = float64(before.rssKiB-empty.rssKiB) / float64(o.groups)
		out["server_cores"] = float64(int64(1000*(after.cpu-before.cpu).Seconds()/elapsed.Seconds()+0.5)) / 1000
	}
	if err := r.failure(); err != nil {
		return out, err
	}
	if !o.noLeave {
		leaveAll(t, groups)
	}
	return out, nil
}

// failure is what stops the run: of a connection, or nonsense that the server answered.
func (r *steadyRun) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed != nil {
		return r.failed
	}
	return anyViolation()
}

// enqueue puts a heartbeat where it is due; that is at or near the end, for all wait equally long.
func enqueue(beats []beat, b beat) []beat {
	beats = append(beats, b)
	for i := len(beats) - 1; i > 0 && b.due.Before(beats[i-1].due); i-- {
		beats[i-1], beats[i] = beats[i], beats[i-1]
	}
	return beats
}

// serve forms the groups of one connection, one after the other, and keeps those alive that are formed.
func (r *steadyRun) serve(c *conn, groups []*group) {
	var beats []beat // in the order they are due
	for next := 0; ; {
		now, due := time.Now(), 0
		for due < len(beats) && !now.Before(beats[due].due) {
			due++
		}
		var err error
		switch {
		case due > 0:
			sent := beats[:due]
			beats = beats[due:]
			err = r.beatAll(c, sent)
			for _, b := range sent {
				beats = enqueue(beats, b)
			}
		case next < len(groups):
			m := groups[next].members[0]
			next++
			m.c = c
			began := time.Now()
			if err = m.joinAndSync(); err == nil {
				err = m.g.check()
			}
			beats = enqueue(beats, beat{m, m.syncedAt.Add(r.o.beat), m.syncedAt})
			r.mu.Lock()
			r.joins.add(m.syncedAt.Sub(began))
			r.mu.Unlock()
			r.formed.Add(1)
		}
		if err != nil {
			r.mu.Lock()
			r.failed = err
			r.mu.Unlock()
			return
		}
		wait := time.Duration(0)
		if next == len(groups) {
			wait = time.Until(beats[0].due)
		}
		select {
		case <-r.stop:
			return
		case <-time.After(wait):
		}
	}
}

// beatAll sends the heartbeats that are due and wants error 0 for each: nobody disturbs these groups, so any other is a session
// that ran out, or a rebalance without cause. A session that the load itself let run out makes the run fail, not the server.
func (r *steadyRun) beatAll(c *conn, beats []beat) error {
	sent := make([]*pending, len(beats))
	for i, b := range beats {
		if late := time.Since(b.answered); late >= r.o.session {
			return fmt.Errorf("the load could not keep up: %v from one heartbeat of a member to its next", late)
		}
		sent[i] = c.send(b.m.heartbeatRequest())
	}
	for i := range beats {
		b := &beats[i]
		resp, err := sent[i].wait(30 * time.Second)
		if err != nil {
			return fmt.Errorf("group %s: Heartbeat: %w", b.m.g.name, err)
		}
		r.mu.Lock()
		if code := resp.(*kmsg.HeartbeatResponse).ErrorCode; code != 0 {
			r.errs[code]++
			violate("group %s: error %d for a live member of a group of one", b.m.g.name, code)
		}
		if r.measuring.Load() {
			r.beats.add(sent[i].at.Sub(b.due))
		}
		r.mu.Unlock()
		b.due, b.answered = b.due.Add(r.o.beat), sent[i].at
	}
	return anyViolation()
}
