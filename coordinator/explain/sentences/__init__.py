"""From claims to words: the only place where sentences about a group are written."""
