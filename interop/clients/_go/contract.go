// Package contract is what all Go drivers have in common: commands from stdin, events to stdout. See interop/README.md.
package contract

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// Command is a line from stdin.
type Command struct {
	Do                  string   `json:"do"`
	Member              string   `json:"member"`
	Bootstrap           string   `json:"bootstrap"`
	Group               string   `json:"group"`
	Topics              []string `json:"topics"`
	Pattern             string   `json:"pattern"`
	ClientID            string   `json:"client_id"`
	InstanceID          string   `json:"instance_id"`
	Protocol            string   `json:"protocol"`
	Assignors           []string `json:"assignors"`
	ServerAssignor      string   `json:"server_assignor"`
	SessionTimeoutMs    int      `json:"session_timeout_ms"`
	HeartbeatIntervalMs int      `json:"heartbeat_interval_ms"`
	MaxPollIntervalMs   int      `json:"max_poll_interval_ms"`
	MetadataMaxAgeMs    int      `json:"metadata_max_age_ms"`
	Security            Security `json:"security"`
	// Of share groups.
	Acknowledgement string  `json:"acknowledgement"`
	MaxRecords      int     `json:"max_records"`
	Type            string  `json:"type"`
	How             string  `json:"how"`
	Records         []Place `json:"records"`
}

// Place is where a record is; in JSON a list of topic, partition and offset.
type Place struct {
	Topic     string
	Partition int32
	Offset    int64
}

// UnmarshalJSON reads the list.
func (p *Place) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&p.Topic, &p.Partition, &p.Offset})
}

// Delivery is a record of a share group, and how often it was delivered.
type Delivery struct {
	Place
	Count int32
}

// Security says how to connect, and as whom. Without a protocol: plain text, and as nobody.
type Security struct {
	Protocol    string `json:"protocol"`
	CA          string `json:"ca"`
	Certificate string `json:"certificate"`
	Key         string `json:"key"`
	Mechanism   string `json:"mechanism"`
	Username    string `json:"username"`
	Password    string `json:"password"`
	Token       string `json:"token"`
}

// TLS makes the configuration of TLS, from files.
func (s Security) TLS() (*tls.Config, error) {
	authorities, err := os.ReadFile(s.CA)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	if !config.RootCAs.AppendCertsFromPEM(authorities) {
		return nil, fmt.Errorf("%s has no certificate", s.CA)
	}
	if s.Certificate != "" {
		pair, err := tls.LoadX509KeyPair(s.Certificate, s.Key)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// Positions: topic → partition → offset.
type Positions map[string]map[int32]int64

// Set an offset.
func (p Positions) Set(topic string, partition int32, offset int64) {
	if p[topic] == nil {
		p[topic] = map[int32]int64{}
	}
	p[topic][partition] = offset
}

// Consumer is one member, as a client library runs it.
type Consumer interface {
	Subscribe(topics []string) error
	// Commit commits the positions of the owned partitions.
	Commit() (Positions, error)
	Pause(paused bool)
	Close() error
}

// Acknowledger is a member of a share group.
type Acknowledger interface {
	Acknowledge(command Command) error
}

// Open makes a consumer and subscribes.
type Open func(options Command, report *Report) (Consumer, error)

// Ms is a number of milliseconds, or another one if it is not given.
func Ms(given, otherwise int) time.Duration {
	if given == 0 {
		given = otherwise
	}
	return time.Duration(given) * time.Millisecond
}

var output sync.Mutex

func emit(event string, fields map[string]any) {
	fields["event"] = event
	line, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	output.Lock()
	defer output.Unlock()
	fmt.Println(string(line))
}

// Report tells what happens to a member, and remembers what it owns and how far it has read.
type Report struct {
	member string
	mutex  sync.Mutex
	owned  map[string]map[int32]bool
	next   Positions
}

// Partitions tells of partitions that came or went: "assigned", "revoked" or "lost".
func (r *Report) Partitions(event string, partitions map[string][]int32) {
	named := map[string][]int32{}
	r.mutex.Lock()
	for topic, indexes := range partitions {
		if r.owned[topic] == nil {
			r.owned[topic] = map[int32]bool{}
		}
		for _, index := range indexes {
			r.owned[topic][index] = event == "assigned"
			delete(r.next[topic], index)
		}
		named[topic] = append([]int32{}, indexes...)
	}
	r.mutex.Unlock()
	emit(event, map[string]any{"member": r.member, "partitions": named, "time_ms": time.Now().UnixMilli()})
}

// Records tells of consecutive records of a partition that were read.
func (r *Report) Records(topic string, partition int32, first, next int64, count int) {
	r.mutex.Lock()
	r.next.Set(topic, partition, next)
	r.mutex.Unlock()
	positions, from := Positions{}, Positions{}
	positions.Set(topic, partition, next)
	from.Set(topic, partition, first)
	emit("records", map[string]any{"member": r.member, "positions": positions, "from": from, "count": count})
}

// Delivered tells of records of a share group.
func (r *Report) Delivered(records []Delivery) {
	listed := [][]any{}
	for _, each := range records {
		listed = append(listed, []any{each.Topic, each.Partition, each.Offset, each.Count})
	}
	emit("delivered", map[string]any{"member": r.member, "records": listed})
}

// Acknowledged tells what came of acknowledgements: topic → partition → the error, or "".
func (r *Report) Acknowledged(how string, results map[string]map[int32]string) {
	emit("acknowledged", map[string]any{"member": r.member, "how": how, "results": results})
}

// Read is how far the owned partitions were read; those of which nothing was read are not in it.
func (r *Report) Read() Positions {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	found := Positions{}
	for topic, partitions := range r.next {
		for partition, offset := range partitions {
			if r.owned[topic][partition] {
				found.Set(topic, partition, offset)
			}
		}
	}
	return found
}

// Failed tells of a failure.
func (r *Report) Failed(during string, problem error, fatal bool) {
	emit("failed", map[string]any{
		"member": r.member, "during": during, "error": fmt.Sprintf("%T", problem), "message": problem.Error(), "fatal": fatal,
	})
}

// Version is the version of a module that is built in.
func Version(path string) string {
	info, _ := debug.ReadBuildInfo()
	for _, each := range info.Deps {
		if each.Path == path {
			return strings.TrimPrefix(each.Version, "v")
		}
	}
	return "unknown"
}

// Run serves commands until stdin ends. `lacks` names what every other client can, and this one not.
func Run(client, version string, can []string, open Open, lacks ...string) {
	emit("ready", map[string]any{"client": client, "version": version, "can": can, "lacks": append([]string{}, lacks...)})
	members := map[string]chan Command{}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var command Command
		if err := json.Unmarshal(lines.Bytes(), &command); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		if command.Do == "start" {
			members[command.Member] = make(chan Command, 1000)
			go serve(command, members[command.Member], open)
		} else if commands, found := members[command.Member]; found {
			commands <- command
		} else {
			(&Report{member: command.Member}).Failed(command.Do, fmt.Errorf("unknown member"), false)
		}
	}
}

func serve(options Command, commands chan Command, open Open) {
	report := &Report{member: options.Member, owned: map[string]map[int32]bool{}, next: Positions{}}
	consumer, err := open(options, report)
	if err != nil {
		report.Failed("start", err, true)
		return
	}
	for command := range commands {
		handle(consumer, report, command)
	}
}

func handle(consumer Consumer, report *Report, command Command) {
	var err error
	switch command.Do {
	case "pause":
		consumer.Pause(true)
	case "resume":
		consumer.Pause(false)
	case "subscribe":
		err = consumer.Subscribe(command.Topics)
	case "commit":
		var positions Positions
		if positions, err = consumer.Commit(); err == nil {
			emit("committed", map[string]any{"member": report.member, "positions": positions})
		}
	case "acknowledge":
		acknowledger, found := consumer.(Acknowledger)
		if !found {
			err = fmt.Errorf("no member of a share group")
		} else {
			err = acknowledger.Acknowledge(command)
		}
	case "leave":
		if err = consumer.Close(); err == nil {
			emit("left", map[string]any{"member": report.member})
		}
	default:
		err = fmt.Errorf("unknown command %s", command.Do)
	}
	if err != nil {
		report.Failed(command.Do, err, false)
	}
}
