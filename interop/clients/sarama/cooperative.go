//go:build !sarama_1_42

package main

import "github.com/IBM/sarama"

func init() {
	assignors["cooperative-sticky"] = sarama.NewBalanceStrategyCooperativeSticky
}
