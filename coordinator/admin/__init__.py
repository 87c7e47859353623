"""The admin port: metrics and health over HTTP, in the event loop of the node."""
