"""The data plane: topics, produce, fetch, list offsets, producer ids, and where a coordinator is found."""
