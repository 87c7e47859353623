package main

import (
	"github.com/IBM/sarama"
	"github.com/xdg-go/scram"
)

// scramHashes are the hash functions of the mechanisms of SCRAM.
var scramHashes = map[string]scram.HashGeneratorFcn{
	sarama.SASLTypeSCRAMSHA256: scram.SHA256,
	sarama.SASLTypeSCRAMSHA512: scram.SHA512,
}

// scramClient is the client's part of a login with SCRAM, which sarama leaves to the application.
type scramClient struct {
	hash scram.HashGeneratorFcn
	*scram.ClientConversation
}

// Begin is called once per connection, before the steps of the conversation.
func (c *scramClient) Begin(username, password, authzID string) error {
	client, err := c.hash.NewClient(username, password, authzID)
	if err != nil {
		return err
	}
	c.ClientConversation = client.NewConversation()
	return nil
}
