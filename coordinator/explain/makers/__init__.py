"""From what is known of a group to what is claimed about it. Nothing here writes a sentence."""
