"""Records of `__consumer_offsets` → what they state, and the events that a change of a group stands for."""
