// The same pairs through franz-go's kmsg: one JSON line of {name: nanoseconds} per repeat.
package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"github.com/twmb/franz-go/pkg/kmsg"
)

type pair struct {
	Name     string `json:"name"`
	Key      int16  `json:"key"`
	Version  int16  `json:"version"`
	Request  string `json:"request"`
	Response string `json:"response"`
	Times    int    `json:"times"`
}

func cpuNanoseconds() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

func main() {
	runtime.GOMAXPROCS(1)
	var input struct {
		Pairs   []pair `json:"pairs"`
		Repeats int    `json:"repeats"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&input); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	for repeat := 0; repeat < input.Repeats; repeat++ {
		took := map[string]float64{}
		for _, p := range input.Pairs {
			took[p.Name] = measure(p)
		}
		line, _ := json.Marshal(took)
		fmt.Println(string(line))
	}
}

func measure(p pair) float64 {
	body, _ := hex.DecodeString(p.Request)
	answer, _ := hex.DecodeString(p.Response)
	response := kmsg.ResponseForKey(p.Key)
	response.SetVersion(p.Version)
	if err := response.ReadFrom(answer); err != nil {
		panic(err)
	}
	frame := make([]byte, 0, 2*len(answer)+64)
	started := cpuNanoseconds()
	for i := 0; i < p.Times; i++ {
		request := kmsg.RequestForKey(p.Key)
		request.SetVersion(p.Version)
		if err := request.ReadFrom(body); err != nil {
			panic(err)
		}
		frame = response.AppendTo(frame[:0])
	}
	return float64(cpuNanoseconds()-started) / float64(p.Times)
}
