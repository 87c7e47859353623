//go:build !franz_go_1_16

package main

import "github.com/twmb/franz-go/pkg/kgo"

// serverSideBalancer switches the new group protocol on (KIP-848).
func serverSideBalancer() []kgo.Opt { return []kgo.Opt{kgo.ServerSideBalancer()} }
