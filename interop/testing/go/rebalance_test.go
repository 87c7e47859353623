// A test of a franz-go consumer against `coordinator testing`: its member is expired, and it has to come back.
package example

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

type kit struct {
	t         *testing.T
	Bootstrap string
	Admin     string
}

// start runs the server; it ends when the test does, also when the test process is killed, because its stdin closes.
func start(t *testing.T) *kit {
	command := os.Getenv("COORDINATOR")
	if command == "" {
		command = "coordinator"
	}
	process := exec.Command(command, "testing", "--until-stdin-closes")
	process.Stderr = os.Stderr
	stdin, err := process.StdinPipe()
	check(t, err)
	stdout, err := process.StdoutPipe()
	check(t, err)
	check(t, process.Start())
	t.Cleanup(func() { stdin.Close(); process.Wait() })
	ready, err := bufio.NewReader(stdout).ReadBytes('\n')
	check(t, err)
	found := &kit{t: t}
	check(t, json.Unmarshal(ready, found))
	return found
}

// ask sends a request to the control and decodes its answer; any status but 200 fails the test.
func (k *kit) ask(method, path string, body, answer any) {
	k.t.Helper()
	data, err := json.Marshal(body)
	check(k.t, err)
	request, err := http.NewRequest(method, "http://"+k.Admin+path, bytes.NewReader(data))
	check(k.t, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	check(k.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	check(k.t, err)
	if response.StatusCode != http.StatusOK {
		k.t.Fatalf("%s %s: %s", method, path, text)
	}
	if answer != nil {
		check(k.t, json.Unmarshal(text, answer))
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type group struct {
	Generation int `json:"generation_id"`
	Members    []struct {
		ID string `json:"member_id"`
	}
}

func TestAnExpiredConsumerComesBack(t *testing.T) {
	server := start(t)
	server.ask("POST", "/testing/topics", map[string]any{"name": "orders", "partitions": 4}, nil)
	client, err := kgo.NewClient(
		kgo.SeedBrokers(server.Bootstrap), kgo.ConsumerGroup("billing"), kgo.ConsumeTopics("orders"),
		kgo.ClientID("billing-1"), kgo.HeartbeatInterval(50*time.Millisecond),
	)
	check(t, err)
	defer client.Close()
	polling, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		for polling.Err() == nil {
			client.PollFetches(polling)
		}
	}()

	var before, after group
	server.ask("GET", "/testing/group?id=billing&state=Stable&members=1&timeout=9", nil, &before)
	server.ask("POST", "/testing/faults", map[string]any{"do": "expire", "group": "billing", "member": "billing-1"}, nil)
	next := fmt.Sprintf("/testing/group?id=billing&state=Stable&members=1&generation=%d&timeout=9", before.Generation+1)
	server.ask("GET", next, nil, &after)
	if after.Members[0].ID == before.Members[0].ID {
		t.Fatal("the consumer is not a new member")
	}
	expected := map[string]any{"group": "billing", "at_most": 3, "causes": []string{"new_member", "fault"}}
	server.ask("POST", "/testing/assert-rebalances", expected, nil)
}
