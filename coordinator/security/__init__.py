"""Who clients are, how they prove it, and what they may do. Knows neither sockets nor handlers."""
