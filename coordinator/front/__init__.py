"""What any node has before its coordinators: connections, TLS, logins, the chain of a request, handlers of groups."""
