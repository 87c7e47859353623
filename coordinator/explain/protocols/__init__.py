"""How groups of each protocol are explained: a row per protocol with its words, waits and paragraphs."""
