"""From definitions to source: a field (fields), its decoder and encoder (reading, writing), whole modules (modules)."""
