package main

import (
	"context"
	"fmt"

	"github.com/segmentio/kafka-go/sasl"
)

// bearer is a token to log in with (OAUTHBEARER, RFC 7628), a mechanism that kafka-go leaves to the application.
type bearer string

// Name is what the mechanism is called in the handshake.
func (bearer) Name() string { return "OAUTHBEARER" }

// Start makes the only message of a login that succeeds.
func (b bearer) Start(context.Context) (sasl.StateMachine, []byte, error) {
	return b, fmt.Appendf(nil, "n,,\x01auth=Bearer %s\x01\x01", string(b)), nil
}

// Next hears that the token is taken, or why it is not.
func (bearer) Next(_ context.Context, challenge []byte) (bool, []byte, error) {
	if len(challenge) > 0 {
		return false, nil, fmt.Errorf("SASL authentication failed: %s", challenge)
	}
	return true, nil, nil
}
