"""What the admin port measures: meters in the server and the runtime, and the one declaration of the metrics."""
