"""Which log directory has which log, what is moved between them, and what is done when one fails."""
