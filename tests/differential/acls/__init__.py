"""Random ACLs, principals and requests on a real Kafka with StandardAuthorizer and on this server."""
