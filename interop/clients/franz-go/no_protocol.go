//go:build franz_go_1_16

package main

import "github.com/twmb/franz-go/pkg/kgo"

// serverSideBalancer is nothing: this version does not have the new group protocol.
func serverSideBalancer() []kgo.Opt { return nil }
