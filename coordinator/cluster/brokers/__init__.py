"""An asynchronous client of the brokers of a cluster, over the codecs of `_wire`."""
