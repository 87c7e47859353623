package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// security is how connections are made where the server has TLS and a login; nil: plain TCP.
type security struct {
	config   *tls.Config
	user     string
	password string
}

var secured *security

// readSecurity trusts the certificates of a PEM file; the login is by SASL/PLAIN, USER:PASSWORD.
func readSecurity(authority, user, password string) (*security, error) {
	pem, err := os.ReadFile(authority)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no certificate", authority)
	}
	return &security{config: &tls.Config{RootCAs: pool}, user: user, password: password}, nil
}

// connected is a connection that has logged in, where that is needed.
func connected(addr string) (net.Conn, error) {
	nc, err := net.DialTimeout("tcp", addr, 10*time.Second)
	if err != nil || secured == nil {
		return nc, err
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	config := secured.config.Clone()
	config.ServerName = host
	tc := tls.Client(nc, config)
	_ = tc.SetDeadline(time.Now().Add(30 * time.Second))
	if err := tc.Handshake(); err != nil {
		nc.Close()
		return nil, fmt.Errorf("TLS: %w", err)
	}
	if err := logIn(tc); err != nil {
		nc.Close()
		return nil, fmt.Errorf("login: %w", err)
	}
	return tc, tc.SetDeadline(time.Time{})
}

func logIn(nc net.Conn) error {
	handshake := kmsg.NewPtrSASLHandshakeRequest()
	handshake.Version, handshake.Mechanism = 1, "PLAIN"
	answer, err := ask(nc, handshake, 1)
	if err != nil {
		return err
	}
	if code := answer.(*kmsg.SASLHandshakeResponse).ErrorCode; code != 0 {
		return fmt.Errorf("SaslHandshake: error %d", code)
	}
	authenticate := kmsg.NewPtrSASLAuthenticateRequest()
	authenticate.Version = 1
	authenticate.SASLAuthBytes = []byte("\x00" + secured.user + "\x00" + secured.password)
	answer, err = ask(nc, authenticate, 2)
	if err != nil {
		return err
	}
	if code := answer.(*kmsg.SASLAuthenticateResponse).ErrorCode; code != 0 {
		return fmt.Errorf("SaslAuthenticate: error %d", code)
	}
	return nil
}

func ask(nc net.Conn, req kmsg.Request, corr int32) (kmsg.Response, error) {
	if _, err := nc.Write(formatter.AppendRequest(nil, req, corr)); err != nil {
		return nil, err
	}
	frame, err := readFrame(nc, make([]byte, 4))
	if err != nil {
		return nil, err
	}
	return decode(req, corr, frame)
}

// driveSecured is the closed loop over TLS: each connection has a goroutine that sends, and reads what comes.
func (cl *closedLoop) driveSecured(ops []*op, conns int) loopResult {
	lanes := make([]*lane, conns)
	streams := make([]net.Conn, conns)
	for i := range lanes {
		nc, err := connected(cl.addr)
		if err != nil {
			return loopResult{err: err}
		}
		defer nc.Close()
		lanes[i], streams[i] = &lane{ring: make([]flight, cl.pipeline)}, nc
	}
	shareOut(ops, lanes)
	from := time.Now().Add(cl.warmup)
	to := from.Add(cl.run)
	results := make([]loopResult, conns)
	var wg sync.WaitGroup
	for i := range lanes {
		wg.Add(1)
		go func() {
			defer wg.Done()
			results[i] = cl.streamLoop(lanes[i], streams[i], from, to)
		}()
	}
	time.Sleep(time.Until(from))
	before, clientBefore, began := readUsage(cl.pids), ownCPU(), time.Now()
	time.Sleep(time.Until(to))
	after, elapsed, clientCPU := readUsage(cl.pids), time.Since(began), ownCPU()-clientBefore
	wg.Wait()
	total := sum(results)
	total.elapsed, total.clientCPU = elapsed, clientCPU
	total.serverCPU, total.rssKiB = after.cpu-before.cpu, after.rssKiB
	return total
}

func (cl *closedLoop) streamLoop(l *lane, nc net.Conn, from, to time.Time) (res loopResult) {
	res.errors = map[int16]uint64{}
	reader := bufio.NewReaderSize(nc, 64<<10)
	head := make([]byte, 4)
	_ = nc.SetReadDeadline(to.Add(10 * time.Second))
	for {
		if l.n < cl.pipeline && reader.Buffered() == 0 {
			if err := l.send(nc, cl.pipeline); err != nil {
				res.err = err
				return
			}
		}
		frame, err := readFrame(reader, head)
		if err != nil {
			res.err = fmt.Errorf("read: %w", err)
			return
		}
		now := time.Now()
		if !now.Before(to) {
			return
		}
		f := l.ring[l.head]
		l.head = (l.head + 1) % len(l.ring)
		l.n--
		code, err := cl.settle(f, frame)
		if err != nil {
			res.err = err
			return
		}
		if !now.Before(from) {
			res.hist.add(now.Sub(f.sent))
			if code != 0 {
				res.errors[code]++
			}
		}
	}
}

// send fills the pipeline in one write.
func (l *lane) send(nc net.Conn, pipeline int) error {
	l.out = l.out[:0]
	sent := time.Now()
	for l.n < pipeline {
		o := l.ops[l.next]
		l.next = (l.next + 1) % len(l.ops)
		l.corr++
		binary.BigEndian.PutUint32(o.frame[8:], l.corr)
		l.out = append(l.out, o.frame...)
		l.ring[(l.head+l.n)%len(l.ring)] = flight{op: o, corr: l.corr, sent: sent}
		l.n++
	}
	_, err := nc.Write(l.out)
	return err
}
